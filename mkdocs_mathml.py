"""Formulas of the site as MathML, which browsers show by themselves: no script, no font, no network.

A hook of mkdocs for what `pymdownx.arithmatex` marked, and an extension of griffe that turns the
`.. math::` blocks of docstrings into what arithmatex knows.
"""

import html
import re
import textwrap
from typing import Any

import griffe
from latex2mathml.converter import convert

LONG = 40  # characters of an inline formula that may be wider than a phone, and then scrolls
MARKED = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
BLOCK = re.compile(r"^([ ]*)\.\. math::\n((?:\1[ ]+\S.*\n?|[ ]*\n(?=\1[ ]+\S))+)", re.MULTILINE)


def on_page_content(content: str, **_: Any) -> str:
    """Replace every marked formula of a page."""
    return MARKED.sub(_mathml, content)


def _mathml(found: re.Match[str]) -> str:
    formula, display = html.unescape(found[2]).strip(), "block" if found[1] == "div" else "inline"
    made = convert(formula, display=display)
    if display == "block":
        return f'<div class="formula">{made}</div>'
    return f'<span class="formula">{made}</span>' if len(formula) > LONG else made


class MathBlocks(griffe.Extension):
    """Docstrings with `$$` around their formulas."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of each object as it is read."""
        if obj.docstring is not None:
            obj.docstring.value = BLOCK.sub(_dollars, obj.docstring.value)


def _dollars(found: re.Match[str]) -> str:
    formula = textwrap.dedent(found[2]).strip()
    return textwrap.indent(f"\n$$\n{formula}\n$$\n\n", found[1])
