"""Pictures of a posterior."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from tsnl.problem import Prior, Problem
from tsnl.show.plots.along import along, label_time
from tsnl.show.plots.pairs import bin_edges
from tsnl.show.plots.style import Palette, style

MOST_NAMED = 6  # columns in a legend


def posterior_figure(
    problem: Problem,
    coordinates: Mapping[str, np.ndarray],
    reference: Mapping[str, Any] | None = None,
    *,
    dark: bool = False,
) -> Any:
    """The series, and posterior against prior for every free entry of theta.

    Args:
        problem: with one series.
        coordinates: label to draws, as `Result.coordinates` gives them.
        reference: label to (grid, density), drawn as a line beside the posterior.
        dark: on dark paper.
    """
    with style(dark) as palette:
        return _draw(problem, coordinates, reference or {}, palette)


def _draw(
    problem: Problem,
    coordinates: Mapping[str, np.ndarray],
    reference: Mapping[str, Any],
    palette: Palette,
) -> Any:
    import matplotlib.pyplot as plt  # slow to import

    columns = min(len(coordinates), 4)
    rows = -(-len(coordinates) // columns)
    size = (max(3.2 * columns, 6.4), 2.4 + 2.4 * rows)
    figure = plt.figure(figsize=size, layout="constrained")
    grid = figure.add_gridspec(rows + 1, columns)
    top = figure.add_subplot(grid[0, :])
    time = along(problem.when, np.arange(1, len(problem.series) + 1))
    top.plot(time, problem.series, lw=1, marker=".", ms=3, label=problem.names)
    top.set_title("observed series")
    label_time(top, problem.when)
    if problem.columns and problem.d_y <= MOST_NAMED:
        top.legend(ncols=problem.d_y)
    before = prior_draws(problem.prior)
    for i, (label, draws) in enumerate(coordinates.items()):
        axes = figure.add_subplot(grid[1 + i // columns, i % columns])
        _marginal(axes, draws, before[label], reference.get(label), palette)
        axes.set(xlabel=label, yticks=[])
        if i == 0:
            axes.legend()
    return figure


def _marginal(axes: Any, draws: np.ndarray, prior: np.ndarray, reference: Any, palette: Palette) -> None:
    low, high = np.quantile(draws, [0.001, 0.999])
    low, high = low - 0.3 * (high - low), high + 0.3 * (high - low)
    edges = bin_edges(draws, (low, high))
    axes.hist(np.ravel(draws), edges, density=True, color=palette.main, alpha=0.6, label="posterior")
    share = np.mean((prior > low) & (prior < high))
    counts, fine = np.histogram(prior, bin_edges(prior, (low, high)), density=True)
    axes.stairs(counts * share, fine, color=palette.faint, label="prior")
    if reference is not None:
        axes.plot(*reference, color=palette.truth, lw=1.5, label="exact")
    axes.set_xlim(low, high)
    axes.spines["left"].set_visible(False)


def prior_draws(prior: Prior) -> dict[str, np.ndarray]:
    """Label to draws of the prior, to compare with."""
    theta = prior.constrain_all(prior.sample_unconstrained(jax.random.key(0), 5000))
    values = np.asarray(prior.coordinates(theta))
    return {label: values[:, i] for i, label in enumerate(prior.labels)}
