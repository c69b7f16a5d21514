"""Small pieces of HTML for notebooks: everything escaped, nothing fetched, on light and dark paper.

Colours are those of the page around; the three of verdicts can be read on white and on black.
"""

from html import escape

from tsnl.runtime.table import Table

COLOURS = {"pass": "#1c8139", "look": "#a06000", "fail": "#d1343f"}
SIGNS = {"pass": "✓", "look": "?", "fail": "✕"}
LINE = "border-bottom:1px solid rgba(128,128,128,.35)"
CELL, TEXT = "padding:.2em .7em;text-align:right", "padding:.2em .7em;text-align:left"


def card(heading: str, *parts: str) -> str:
    """A heading, and pieces of HTML under it."""
    head = f"<div style='font-weight:600;margin-bottom:.3em'>{escape(heading)}</div>"
    return f"<div class='tsnl' style='margin:.3em 0;max-width:60em'>{head}{''.join(parts)}</div>"


def paragraph(text: str) -> str:
    """A line of text."""
    return f"<div style='margin:.3em 0'>{escape(text)}</div>" if text else ""


def table(shown: Table, prose: bool = False) -> str:
    """A table; its cells are figures, or, in prose, text that may be long."""
    cell = TEXT if prose else CELL
    names = [(TEXT if i == 0 else cell, name) for i, name in enumerate(shown.head)]
    heads = "".join(f"<th style='{style}'>{escape(name)}</th>" for style, name in names)
    lines = [f"<tr style='{LINE}'>{heads}</tr>"]
    for name, *rest in shown.rows:
        cells = "".join(f"<td style='{cell}'>{_cell(one)}</td>" for one in rest)
        lines.append(f"<tr style='{LINE}'><th style='{TEXT}'>{escape(name)}</th>{cells}</tr>")
    look = "border-collapse:collapse;font-size:90%;font-variant-numeric:tabular-nums"
    return f"<table style='{look}'>{''.join(lines)}</table>"


def badge(level: str) -> str:
    """A verdict, by colour, sign and word."""
    return f"<b style='color:{COLOURS[level]}'>{SIGNS[level]} {escape(level)}</b>"


def _cell(text: str) -> str:
    return badge(text) if text in COLOURS else escape(text)
