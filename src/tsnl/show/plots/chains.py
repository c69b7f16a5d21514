"""Pictures of Markov chains: where they went, and whether they agree."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import bdtrik
from scipy.stats import rankdata

from tsnl.sampling.diagnostics import ess
from tsnl.show.plots.style import style

MOST_STEPS = 1000  # of a chain that is drawn
MOST_CHAINS = 8
FEWEST_BINS, MOST_BINS = 4, 20
PER_BIN = 8  # independent draws


def chains_figure(
    draws: Mapping[str, Float[np.ndarray, "chain draw"]], *, level: float = 0.95, dark: bool = False
) -> Any:
    """A row for each coordinate: the traces of its chains, and the ranks of each chain among all.

    Ranks of a chain that agrees with the others are spread evenly: its count in a bin stays in the band
    with the probability `level`, for as many independent draws as its effective sample size.

    Args:
        draws: label to draws, as `Result.coordinates` gives them.
        level: of the band.
        dark: on dark paper.
    """
    import matplotlib.pyplot as plt  # slow to import

    with style(dark) as palette:
        size = (7.0, 0.4 + 1.7 * len(draws))
        figure, panels = plt.subplots(len(draws), 2, figsize=size, layout="constrained", squeeze=False)
        for (left, right), (label, values) in zip(panels, draws.items(), strict=True):
            shown = values[:MOST_CHAINS, :: -(-values.shape[1] // MOST_STEPS)]
            step = -(-values.shape[1] // MOST_STEPS) * np.arange(shown.shape[1])
            left.plot(step, shown.T, color=palette.main, alpha=0.35, lw=0.6)
            left.set(ylabel=label)
            size_of_one = max(float(ess(values[..., None])[0]) / len(values), 1.0)
            counts = rank_counts(values, size_of_one)
            mean = values.shape[1] / counts.shape[1]
            tails = np.array([(1 - level) / 2, (1 + level) / 2])
            ends = np.ceil(bdtrik(tails, round(size_of_one), 1 / counts.shape[1]))
            low, high = ends * values.shape[1] / round(size_of_one)
            right.axhspan(low, high, color=palette.band, lw=0)
            edges = np.linspace(0, 1, counts.shape[1] + 1)
            for one in counts[:MOST_CHAINS]:
                right.hlines(one, edges[:-1], edges[1:], color=palette.main, alpha=0.6, lw=1.2)
            right.set(xlim=(0, 1), ylim=(0, max(counts.max(), high, 2 * mean) * 1.05), ylabel="draws")
        panels[-1, 0].set_xlabel("draw of a chain")
        panels[-1, 1].set_xlabel("rank among all chains")
    return figure


def rank_counts(draws: Float[np.ndarray, "chain draw"], size: float) -> Float[np.ndarray, "chain bin"]:
    """How many draws of each chain fall in each of equal parts of the ranks of all.

    Args:
        draws: of one coordinate.
        size: effective sample size of one chain, by which the number of parts is chosen.
    """
    num_bins = int(np.clip(size / PER_BIN, FEWEST_BINS, MOST_BINS))
    ranks = (rankdata(draws).reshape(draws.shape) - 0.5) / draws.size
    places = np.minimum((ranks * num_bins).astype(int), num_bins - 1)
    return np.stack([np.bincount(one, minlength=num_bins) for one in places]).astype(float)
