"""Error against cost, for methods side by side."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from tsnl.plots.style import style

Points = tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]


def cost_figure(
    runs: Mapping[str, Points],
    *,
    error: str = "error",
    floor: float | None = None,
    dark: bool = False,
) -> Any:
    """Every run as a point; for each method a line through the medians of its budgets.

    Args:
        runs: method to (cost, error) of its runs; runs of one budget share their cost.
        error: what the error is.
        floor: the least error that can be seen, such as that of exact draws.
        dark: on dark paper.
    """
    import matplotlib.pyplot as plt  # slow to import

    with style(dark) as palette:
        figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
        for name, (cost, errors) in runs.items():
            budgets = np.unique(cost)
            medians = [np.median(errors[cost == budget]) for budget in budgets]
            (line,) = axes.plot(budgets, medians, lw=1.5, label=name)
            axes.plot(cost, errors, ".", ms=4, alpha=0.5, color=line.get_color())
        if floor is not None:
            axes.axhline(floor, color=palette.truth, lw=1, ls=":", label="exact draws")
        axes.set(xscale="log", yscale="log", xlabel="calls of the dynamics", ylabel=error)
        axes.legend(frameon=False, fontsize="small")
    return figure
