"""Error at equal cost in one table and one figure, as the README and the front page show them."""

from typing import Any

from paper.compare import EXACT, MissingTrialsError, Tables
from paper.figures import curve
from paper.table import numbers, values, where
from paper.trial import Row
from paper.verdicts_costs import EQUAL_COST
from tsnl.show.plots.costs import cost_figure

SHOWN = {"lgssm": "linear", "svssm": "volatility", "lvssm": "predator-prey"}
METHODS = ("T-SNL", "SNL", "SMC-ABC", "PMMH")
DRAWN = "lvssm"  # whose curves the figure shows


def headline_table(tables: Tables) -> str:
    """A row for each model: mean distance to the reference and its standard error at equal cost.

    Raises:
        MissingTrialsError: a method has no trial there.
    """
    lines = [f"| model, distance | {' | '.join(METHODS)} |", "|---|" + "---|" * len(METHODS)]
    for name, problem in SHOWN.items():
        here = where(tables.get(name, []), problem=problem, budget=EQUAL_COST)
        if not set(METHODS) <= set(values(here, "method")):
            raise MissingTrialsError(f"no trial of some method in {name} at {EQUAL_COST:,}")
        runs = [where(here, method=method) for method in METHODS]
        cells = [_cell(rows, max(map(len, runs))) for rows in runs]
        lines.append(f"| {problem}, {here[0]['distance_kind']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(rows: list[Row], wanted: int) -> str:
    found = numbers(rows, "distance")
    error = found.std(ddof=1) / len(found) ** 0.5 if len(found) > 1 else 0.0
    failed = f" ({wanted - len(found)} of {wanted} failed)" if len(found) < wanted else ""
    return f"{found.mean():.3f} ± {error:.3f}{failed}"


def headline_figure(tables: Tables, dark: bool = False) -> Any:
    """Distance to the reference against cost for one model, every trial a point; on dark paper or light.

    Raises:
        MissingTrialsError: a method has no trial.
    """
    rows = tables.get(DRAWN, [])
    missing = {EXACT, *METHODS} - set(values(rows, "method"))
    if missing:
        raise MissingTrialsError(f"no trial of {', '.join(sorted(missing))} in {DRAWN}")
    exact = float(numbers(where(rows, method=EXACT), "distance").mean())
    runs = {method: curve(where(rows, method=method), "distance") for method in METHODS}
    error = rows[0]["distance_kind"] + " to the reference"
    return cost_figure(runs, error=error, floor=exact, dark=dark)
