"""Error against cost, for methods side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from tsnl.show.plots.style import Palette, style

Points = tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]
Scale = Literal["linear", "log"]
SPREAD = (10, 90)  # percentiles between which the band lies


@dataclass(frozen=True)
class Panel:
    """Curves side by side.

    Attributes:
        title: above it.
        ylabel: what the curves are of.
        curves: name to (x, y) of all its runs; runs with equal x make one point of the curve.
        floor: a value to compare with, None for none.
        xscale, yscale: "linear" or "log".
    """

    title: str
    ylabel: str
    curves: Mapping[str, Points]
    floor: float | None = None
    xscale: Scale = "log"
    yscale: Scale = "log"


def curves_figure(
    panels: Sequence[Panel], *, xlabel: str, columns: int, floor: str = "", dark: bool = False
) -> Any:
    """The mean of each curve, with a band from the 10th to the 90th percentile of its runs.

    Args:
        panels: in reading order; the legend is in the first.
        xlabel: what x is, in all of them.
        columns: panels in a row.
        floor: what the panels' floors are, for the legend.
        dark: on dark paper.
    """
    import matplotlib.pyplot as plt  # slow to import

    rows = -(-len(panels) // columns)
    with style(dark) as palette:
        size = (3.0 * columns + 0.4, 2.6 * rows + 0.3)
        figure = plt.figure(figsize=size, layout="constrained")
        for i, panel in enumerate(panels):
            axes = figure.add_subplot(rows, columns, i + 1)
            for j, (name, (x, y)) in enumerate(panel.curves.items()):
                mark, colour = look(palette, j)
                places = np.unique(x)
                groups = [y[x == place] for place in places]
                low, high = np.array([np.percentile(group, SPREAD) for group in groups]).T
                axes.plot(places, [group.mean() for group in groups], mark + "-", ms=3.5, lw=1.5,
                          color=colour, label=name)  # fmt: skip
                axes.fill_between(places, low, high, color=colour, alpha=0.15, lw=0)
            if panel.floor is not None:
                axes.axhline(panel.floor, color=palette.truth, lw=1, ls=":", label=floor)
            axes.set(title=panel.title, ylabel=panel.ylabel, xscale=panel.xscale, yscale=panel.yscale)
            axes.set_xlabel(xlabel if i >= len(panels) - columns else "")
            if panel.curves and (i == 0 or set(panel.curves) != set(panels[0].curves)):
                axes.legend()
    return figure


def cost_figure(
    runs: Mapping[str, Points],
    *,
    error: str = "error",
    floor: float | None = None,
    dark: bool = False,
) -> Any:
    """Every run as a point; for each method a line through the means of its budgets.

    Args:
        runs: method to (cost, error) of its runs; runs of one budget share their cost.
        error: what the error is.
        floor: the least error that can be seen, such as that of exact draws.
        dark: on dark paper.
    """
    import matplotlib.pyplot as plt  # slow to import

    with style(dark) as palette:
        figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
        for j, (name, (cost, errors)) in enumerate(runs.items()):
            mark, colour = look(palette, j)
            budgets = np.unique(cost)
            means = [errors[cost == budget].mean() for budget in budgets]
            axes.plot(budgets, means, mark + "-", ms=5, lw=1.5, color=colour, label=name)
            axes.plot(cost, errors, ".", ms=3, alpha=0.5, color=colour)
        if floor is not None:
            axes.axhline(floor, color=palette.truth, lw=1, ls=":", label="exact draws")
        axes.set(xscale="log", yscale="log", xlabel="calls of the dynamics", ylabel=error)
        axes.legend()
    return figure


def look(palette: Palette, index: int) -> tuple[str, str]:
    """The mark and the colour of a curve."""
    colours = (palette.main, palette.alert, palette.ink, palette.truth, palette.faint)
    return "os^Dvx+*"[index % 8], colours[index % len(colours)]
