"""Tables to curves: what the figures of several experiments have in common."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from paper.problems import PROBLEMS
from paper.table import numbers, values, where
from paper.trial import Row
from tsnl.show.plots.costs import Panel, Points, curves_figure

COLUMNS = 3  # panels of metrics beside each other
METRICS = {
    "kde": r"$E_{KDE}$ above its least",
    "min": r"$E_{min}$",
    "bias": "bias",
    "sd": "standard deviation",
    "rmse": "RMSE",
    "distance": "distance to the reference",
}
EXACT = "exact draws"


def kde_floor(problem: str) -> float:
    r"""What \(E_{KDE}\) is where all draws are the truth: \(\frac d2 \log 2 \pi\)."""
    return 0.5 * PROBLEMS[problem].prior.size * float(np.log(2 * np.pi))


def curve(rows: Sequence[Row], metric: str) -> Points:
    """A metric against the mean cost of each budget; the kernel density error above its least."""
    budget, cost = numbers(rows, "budget"), numbers(rows, "cost")
    x = np.array([cost[budget == b].mean() for b in budget])
    y = numbers(rows, metric) - (kde_floor(rows[0]["problem"]) if metric == "kde" and rows else 0.0)
    return x[np.isfinite(y)], y[np.isfinite(y)]


def cost_panels(rows: Sequence[Row]) -> Any:
    """Each metric against cost, a row of panels for each problem, a curve for each method."""
    panels = []
    for problem in values(rows, "problem"):
        here = where(rows, problem=problem)
        exact = where(here, method=EXACT)
        methods = [method for method in values(here, "method") if method != EXACT]
        for metric, label in METRICS.items():
            kind = here[0]["distance_kind"] if metric == "distance" else label
            curves = {method: curve(where(here, method=method), metric) for method in methods}
            floor = float(curve(exact, metric)[1].mean()) if exact else None
            panels.append(Panel(problem, kind, curves, floor))
    return curves_figure(panels, xlabel="calls of the dynamics", columns=COLUMNS, floor=EXACT)


def setting_panels(rows: Sequence[Row], metrics: Sequence[str]) -> Any:
    """Metrics for each setting, all trials as points around their mean: a row for each problem."""
    import matplotlib.pyplot as plt  # slow to import

    from tsnl.show.plots.style import style

    problems = values(rows, "problem")
    with style() as palette:
        size = (4.0 * len(metrics), 2.8 * len(problems))
        figure, panels = plt.subplots(
            len(problems), len(metrics), figsize=size, squeeze=False, layout="constrained"
        )
        for line, problem in zip(panels, problems, strict=True):
            here = where(rows, problem=problem)
            settings = values(here, "setting")
            for axes, metric in zip(line, metrics, strict=True):
                for place, setting in enumerate(settings):
                    y = numbers(where(here, setting=setting), metric)
                    x = place + np.linspace(-0.15, 0.15, len(y)) if len(y) > 1 else [place]
                    axes.plot(x, y, ".", ms=4, color=palette.faint)
                    axes.plot([place - 0.3, place + 0.3], [y.mean()] * 2, color=palette.main, lw=2)
                axes.set_xticks(range(len(settings)), settings, rotation=30, ha="right")
                axes.set(title=problem, ylabel=METRICS.get(metric, metric))
    return figure
