"""Pages from templates and figures."""

import ast
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from examples.gallery.figures import draw_all
from examples.gallery.kept import DOCS, HERE, analysis_of, load

TEMPLATES = HERE / "pages"


def write_all(names: list[str]) -> None:
    """Pictures and page of every name, and the index of them all."""
    (DOCS / "figures").mkdir(parents=True, exist_ok=True)
    for name in names:
        draw_all(analysis_of(name), load(name), DOCS / "figures")
        (DOCS / f"{name}.md").write_text(page(name))
    (DOCS / "index.md").write_text(index(names))


def page(name: str) -> str:
    """The text of a page."""
    analysis, figures = analysis_of(name), load(name)
    verdicts = {row["name"]: row["verdict"] for row in figures["checks"]}
    scores = sorted(figures["scores"], key=lambda row: row["crps"])
    return (
        _environment()
        .get_template(f"{name}.md.jinja")
        .render(
            name=name,
            title=analysis.title,
            f=figures,
            verdicts=verdicts,
            noted=[row for row in figures["checks"] if row["verdict"] != "pass"],
            scores=scores,
            model_scores=[row for row in scores if row["name"].startswith("T-SNL")],
            plain_scores=[row for row in scores if not row["name"].startswith("T-SNL")],
            unit=analysis.data.unit,
            source=lambda *names: source(HERE / f"{name}.py", names),
            file=lambda path: (HERE / path).read_text().strip(),
        )
    )


def index(names: list[str]) -> str:
    """The text of the index."""
    rows = [{"name": name, "title": analysis_of(name).title, "f": load(name)} for name in names]
    return _environment().get_template("index.md.jinja").render(rows=rows)


def source(path: Path, names: tuple[str, ...]) -> str:
    """The code of some classes, functions or assignments of a file, as it is run."""
    text = path.read_text()
    found: dict[str, str] = {}
    for node in ast.parse(text).body:
        label = _label(node)
        if label in names:
            found[label] = ast.get_source_segment(text, node) or ""
    return "\n\n\n".join(found[name] for name in names)


def _label(node: ast.stmt) -> str:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return ""


def short(value: float) -> str:
    """A number of three digits."""
    if value == 0 or not 1e-3 <= abs(value) < 1e6:
        return f"{value:.3g}"
    digits = max(0, 2 - int(f"{abs(value):e}".split("e")[1]))
    return f"{value:,.{digits}f}"


def percent(share: float) -> str:
    """A share in per cent."""
    return f"{100 * share:.0f} %"


def _environment() -> Environment:
    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown of our own
    )
    found.filters |= {"short": short, "percent": percent, "whole": lambda x: f"{x:,}"}
    return found
