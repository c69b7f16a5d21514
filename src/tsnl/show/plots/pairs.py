"""Pictures of several coordinates of theta together, and of marginals beside a reference."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tsnl.problem.draws import evenly
from tsnl.sampling.diagnostics import ess
from tsnl.show.plots.style import Palette, style

Draws = Mapping[str, np.ndarray]
MAX_POINTS = 2000
FEWEST_BINS, MOST_BINS = 8, 40


def pair_figure(
    draws: Draws,
    *,
    prior: Draws | None = None,
    truth: Mapping[str, float] | None = None,
    dark: bool = False,
) -> Any:
    """Marginals on the diagonal, pairs of coordinates below it.

    Args:
        draws: label to draws, as `Result.coordinates` gives them.
        prior: label to prior draws, to compare with.
        truth: label to true value, where it is known.
        dark: on dark paper.
    """
    import matplotlib.pyplot as plt  # slow to import

    labels, truth, prior = list(draws), truth or {}, prior or {}
    count = len(labels)
    limits = {label: _limits(draws[label], truth.get(label)) for label in labels}
    with style(dark) as palette:
        side = max(2.0 * count, 3.2)
        figure, grid = plt.subplots(
            count, count, figsize=(side, side), layout="constrained", squeeze=False
        )
        for (i, j), axes in np.ndenumerate(grid):
            row, column = labels[i], labels[j]
            if j > i:
                axes.set_visible(False)
                continue
            if i == j:
                _histogram(axes, draws[row], prior.get(row), limits[row], palette)
            else:
                _cloud(axes, draws, prior, (column, row), palette)
                axes.set_ylim(*limits[row])
                if row in truth:
                    axes.axhline(truth[row], color=palette.truth, lw=1)
            if column in truth:
                axes.axvline(truth[column], color=palette.truth, lw=1)
            axes.set_xlim(*limits[column])
            _label(axes, row, column, i, j, count)
        if prior:
            place = grid[0, 0] if count == 1 else figure  # above the diagonal there is room
            place.legend(*grid[0, 0].get_legend_handles_labels(), loc="upper right")
    return figure


def marginal_figure(
    draws: Draws,
    reference: Mapping[str, Any] | None = None,
    *,
    prior: Draws | None = None,
    truth: Mapping[str, float] | None = None,
    names: tuple[str, str] = ("posterior", "reference"),
    dark: bool = False,
) -> Any:
    """Each marginal beside that of a reference, such as a long exact run.

    Args:
        draws: label to draws.
        reference: label to draws, or to (grid, density).
        prior: label to prior draws, which are shown within the range of the others.
        truth: label to true value, where it is known.
        names: of the draws and of the reference, in the legend.
        dark: on dark paper.
    """
    import matplotlib.pyplot as plt

    reference, prior, truth = reference or {}, prior or {}, truth or {}
    columns = min(len(draws), 4)
    rows = -(-len(draws) // columns)
    with style(dark) as palette:
        size = (max(3.0 * columns, 4.0), 2.4 * rows)
        figure = plt.figure(figsize=size, layout="constrained")
        for i, (label, values) in enumerate(draws.items()):
            axes = figure.add_subplot(rows, columns, i + 1)
            other = reference.get(label)
            both = [np.ravel(x) for x in (values, other) if isinstance(x, np.ndarray)]
            limits = _limits(np.concatenate(both), truth.get(label))
            _histogram(axes, values, prior.get(label), limits, palette, names[0])
            if isinstance(other, tuple):
                grid, density = other
                axes.plot(grid, density / np.trapezoid(density, grid), color=palette.truth, lw=1.5,
                          label=names[1])  # fmt: skip
            elif other is not None:
                _stairs(axes, other, limits, palette.truth, names[1])
            if label in truth:
                axes.axvline(truth[label], color=palette.ink, lw=1, ls="--", label="truth")
            axes.set(xlabel=label, yticks=[], xlim=limits)
            if i == 0:
                axes.legend()
    return figure


def _cloud(axes: Any, draws: Draws, prior: Draws, pair: tuple[str, str], palette: Palette) -> None:
    if all(label in prior for label in pair):
        before = [_thin(prior[label]) for label in pair]
        axes.plot(*before, ".", ms=1.5, color=palette.faint, alpha=0.5)
    axes.plot(*(_thin(draws[label]) for label in pair), ".", ms=2, color=palette.main, alpha=0.3)


def _thin(values: np.ndarray) -> np.ndarray:
    flat = np.asarray(values).ravel()
    return flat[evenly(len(flat), min(len(flat), MAX_POINTS))]


def _limits(values: np.ndarray, truth: float | None) -> tuple[float, float]:
    low, high = np.quantile(values, [0.001, 0.999])
    low, high = low - 0.2 * (high - low), high + 0.2 * (high - low)
    return (low, high) if truth is None else (min(low, float(truth)), max(high, float(truth)))


def _histogram(
    axes: Any,
    values: np.ndarray,
    prior: Any,
    limits: tuple[float, float],
    palette: Palette,
    name: str = "posterior",
) -> None:
    edges = bin_edges(values, limits)
    axes.hist(np.ravel(values), edges, density=True, color=palette.main, alpha=0.6, label=name)
    if prior is not None:
        _stairs(axes, prior, limits, palette.faint, "prior")
    axes.spines["left"].set_visible(False)


def bin_edges(values: np.ndarray, limits: tuple[float, float]) -> np.ndarray:
    """Bins as wide as what the draws can tell: 2 n^(1/3) of them, n their effective sample size."""
    chains = np.asarray(values)
    size = chains.size if chains.ndim != 2 else float(ess(chains[..., None])[0])
    count = 2 * (size if np.isfinite(size) else chains.size) ** (1 / 3)
    return np.linspace(*limits, 1 + int(np.clip(count, FEWEST_BINS, MOST_BINS)))


def _stairs(axes: Any, values: Any, limits: tuple[float, float], colour: str, label: str) -> None:
    """A histogram's outline; values beyond the limits count in its height."""
    edges = bin_edges(values, limits)
    counts = np.histogram(np.ravel(values), edges)[0] / (np.size(values) * np.diff(edges))
    axes.stairs(counts, edges, color=colour, lw=1.5, label=label)


def _label(axes: Any, row: str, column: str, i: int, j: int, count: int) -> None:
    if i == count - 1:
        axes.set_xlabel(column)
    else:
        axes.set_xticklabels([])
    if j == 0 and i > 0:
        axes.set_ylabel(row)
    elif i == j:
        axes.set_yticks([])
    else:
        axes.set_yticklabels([])
