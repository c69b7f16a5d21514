"""`docs/results.md` from the tables alone: each claim, our measurement, the verdict and the figure."""

import shutil
from contextlib import suppress
from pathlib import Path

import numpy as np

from paper import table
from paper.compare import MissingTrialsError, Tables
from paper.entry import draw, save
from paper.headline import METHODS, SHOWN, headline_figure, headline_table
from paper.registry import EXPERIMENTS
from paper.sections import FOLDER, TITLES, section, verdicts
from paper.trial import Row
from paper.verdicts_costs import EQUAL_COST

HEAD = """# Results

The paper's experiments, run again with this package: every claim, what we measured, and whether it
agrees. Made by `python -m paper report` from the tables in `docs/results/` and nothing else.
"""
WORDS = """\
Cost is in calls of the dynamics, one step of one simulated path. Distance to the reference posterior is
total variation over ten bins of equal mass for one parameter, and the sliced Wasserstein distance in
reference standard deviations for several: zero at best. Figures are means over ten series; in brackets,
T-SNL's difference over the series that both methods have, with its standard error. PMMH is what the
paper calls BPF-MCMC. T-SNL has its default options, except that training stops after four looks without
improvement, which was the default when the tables were made;
[decision 0010](decisions/0010-training-to-the-end.md) says what that costs."""


def write_report(out: Path | str, docs: Path | str) -> Path:
    """Write the page, with the tables and figures that it shows beside it.

    Args:
        out: folder of the tables.
        docs: folder of the documentation.

    Returns:
        The page.
    """
    out, target = Path(out), Path(docs) / FOLDER
    target.mkdir(parents=True, exist_ok=True)
    for path in (out / f"{name}.csv" for name in EXPERIMENTS):
        if path.exists() and path.resolve() != (target / path.name).resolve():
            shutil.copyfile(path, target / path.name)
    for name, experiment in EXPERIMENTS.items():
        draw(experiment, target / f"{name}.csv")
    with suppress(MissingTrialsError):
        tables = _finished(read_tables(target))
        for name, dark in (("headline", False), ("headline-dark", True)):
            save(headline_figure(tables, dark), target / f"{name}.svg")
    page = Path(docs) / "results.md"
    page.write_text(results_page(target), encoding="utf-8")
    return page


def read_tables(folder: Path) -> Tables:
    """All rows of all tables that there are, failed trials too."""
    found = {name: table.read(folder / f"{name}.csv") for name in EXPERIMENTS}
    return {name: rows for name, rows in found.items() if rows}


def results_page(folder: Path) -> str:
    """The text of the page, from the tables in a folder."""
    rows = read_tables(folder)
    tables = _finished(rows)
    parts = [HEAD.strip(), _count(tables), _headline(tables), WORDS]
    parts += [section(name, rows, tables) for name in TITLES]
    parts += [_trials(rows), _seconds(tables)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _finished(tables: Tables) -> Tables:
    return {name: table.finished(rows) for name, rows in tables.items()}


def _count(tables: Tables) -> str:
    """How many claims agree."""
    found = verdicts(tables)
    if not found:
        return ""
    claims = [verdict for verdict in found if verdict is not None]
    return f"Of {len(claims)} claims, **{sum(claims)} agree** and {len(claims) - sum(claims)} do not."


def _headline(tables: Tables) -> str:
    """The table that the README shows."""
    try:
        found = headline_table(tables)
    except MissingTrialsError:
        return ""
    head = f"## At {EQUAL_COST:,} calls of the dynamics\n\nMeans over the series, with standard errors."
    return f"{head}\n\n{found}"


def _trials(tables: Tables) -> str:
    """How many trials there are, how many failed, and what they took."""
    lines = ["## Trials", "", "| experiment | trials | failed | core minutes |", "|---|---|---|---|"]
    total = 0.0
    for name, rows in tables.items():
        failed = len(rows) - len(table.finished(rows))
        minutes = np.nansum(table.numbers(rows, "cpu_seconds")) / 60
        total += minutes
        lines.append(f"| {name} | {len(rows)} | {failed} | {minutes:.1f} |")
    return "\n".join([*lines, f"| all | {sum(map(len, tables.values()))} | | {total:.1f} |"])


def _seconds(tables: Tables) -> str:
    """Median CPU seconds of a trial in the cost experiments, budgets increasing."""
    lines = ["## Seconds", "", "Median CPU seconds of one core for a trial, budgets increasing.", ""]
    lines += [f"| problem | {' | '.join(METHODS)} |", "|---|" + "---|" * len(METHODS)]
    for problem, rows in [(p, r) for name in SHOWN for p, r in _problems(tables.get(name, []))]:
        cells = []
        for method in METHODS:
            here = table.where(rows, method=method)
            budgets = sorted({int(row["budget"]) for row in here})
            groups = [table.numbers(table.where(here, budget=b), "cpu_seconds") for b in budgets]
            cells.append(", ".join(f"{np.median(group):.1f}" for group in groups))
        lines.append(f"| {problem} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _problems(rows: list[Row]) -> list[tuple[str, list[Row]]]:
    return [(problem, table.where(rows, problem=problem)) for problem in table.values(rows, "problem")]
