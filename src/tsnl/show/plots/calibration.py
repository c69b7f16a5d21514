"""Pictures of ranks and of coverage."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Int

from tsnl.checks.uniformity import Ecdf, histogram_band
from tsnl.show.plots.style import style

MAX_BINS = 20


def ecdf_figure(
    tests: Mapping[str, Ecdf], *, xlabel: str = "normalised rank", dark: bool = False
) -> Any:
    """Shares of trials minus their nominal values, with the band that holds at all points at once.

    Args:
        tests: name to `Ecdf`, of ranks or of coverage; one panel each.
        xlabel: what the nominal values are, such as "nominal coverage".
        dark: on dark paper.
    """
    with style(dark) as palette:
        figure, panels = _panels(len(tests))
        for axes, (name, test) in zip(panels, tests.items(), strict=True):
            x = np.concatenate([[0.0], test.points, [1.0]])
            low, high, share = (
                np.concatenate([[0.0], values - test.points, [0.0]])
                for values in (test.low, test.high, test.share)
            )
            axes.fill_between(x, low, high, color=palette.band, lw=0, label=f"{test.level:.0%} band")
            axes.axhline(0.0, color=palette.faint, lw=0.8)
            axes.plot(x, share, color=palette.main if test.inside else palette.alert, lw=1.5)
            axes.set(title=f"{name}: p = {_short(test.p_value)}", xlabel=xlabel, xlim=(0, 1))
        panels[0].set_ylabel("share − nominal")
        panels[0].legend(loc="lower right")
    return figure


def rank_figure(
    ranks: Mapping[str, Int[np.ndarray, " trial"]],
    num_draws: int,
    *,
    num_bins: int | None = None,
    level: float = 0.95,
    dark: bool = False,
) -> Any:
    """Histograms of ranks, with the band that holds all bins at once.

    Args:
        ranks: name to ranks in 0..num_draws; one panel each.
        num_draws: L.
        num_bins: a divisor of L + 1, so that all bins are equally likely; None takes the largest one up
            to 20 that leaves five trials or more to a bin.
        level: of the band.
        dark: on dark paper.
    """
    num_trials = len(next(iter(ranks.values())))
    num_bins = _num_bins(num_draws, num_trials) if num_bins is None else num_bins
    if num_bins < 1 or (num_draws + 1) % num_bins:
        raise ValueError(
            f"{num_bins} bins do not divide the {num_draws + 1} ranks evenly: choose a divisor."
        )
    low, high = histogram_band(num_trials, num_bins, level)
    edges = np.linspace(0, num_draws + 1, num_bins + 1)
    with style(dark) as palette:
        figure, panels = _panels(len(ranks))
        for axes, (name, values) in zip(panels, ranks.items(), strict=True):
            counts = np.histogram(values, edges)[0]
            axes.axhspan(low, high, color=palette.band, lw=0, label=f"{level:.0%} band")
            axes.axhline(num_trials / num_bins, color=palette.faint, lw=0.8)
            outside = (counts < low) | (counts > high)
            colours = np.where(outside, palette.alert, palette.main).tolist()
            width = edges[1] - edges[0]
            axes.bar(edges[:-1], counts, width, align="edge", color=colours, alpha=0.75, lw=0)
            axes.set(title=name, xlabel="rank", xlim=(0, num_draws + 1))
            axes.set_ylim(0, 1.15 * max(counts.max(), high))
        panels[0].set_ylabel("trials")
        panels[0].legend(loc="upper right")
    return figure


def _panels(count: int) -> tuple[Any, list[Any]]:
    """A figure with so many panels, four in a row."""
    import matplotlib.pyplot as plt  # slow to import

    columns = min(count, 4)
    rows = -(-count // columns)
    figure = plt.figure(figsize=(max(3.2 * columns, 4.0), 2.6 * rows), layout="constrained")
    return figure, [figure.add_subplot(rows, columns, i + 1) for i in range(count)]


def _num_bins(num_draws: int, num_trials: int) -> int:
    most = max(min(MAX_BINS, num_trials // 5), 1)
    return max(b for b in range(1, most + 1) if (num_draws + 1) % b == 0)


def _short(p: float) -> str:
    return f"{p:.2f}" if p >= 0.01 else f"{p:.0e}"
