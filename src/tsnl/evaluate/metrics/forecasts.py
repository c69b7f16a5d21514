"""How good draws of a forecast are, once the truth is known.

Draws come first, along their own axis; what is NaN in the truth has a NaN score.
"""

import numpy as np
from jaxtyping import Bool, Float


def crps(
    draws: Float[np.ndarray, "draw *shape"],  # noqa: F821
    truth: Float[np.ndarray, "*shape"],
) -> Float[np.ndarray, "*shape"]:
    r"""The continuous ranked probability score of each entry, less is better.

    .. math::
        \int (F(x) - 1\{x \ge y\})^2 dx = E|X - y| - \tfrac12 E|X - X'|,

    by the fair estimator, with \(n (n - 1)\) pairs in the second mean: unbiased for any number n of
    draws (Ferro, 2014), so it may fall a little below zero.
    """
    n = _count(draws)
    ordered = np.sort(draws, axis=0)
    weights = (2 * np.arange(n) - (n - 1)).reshape(-1, *(1 for _ in truth.shape))
    half_gap = np.sum(weights * ordered, axis=0) / (n * (n - 1))  # of all pairs, from the sorted draws
    return np.abs(draws - truth).mean(axis=0) - half_gap


def energy_score(
    draws: Float[np.ndarray, "draw *shape d"], truth: Float[np.ndarray, "*shape d"]
) -> Float[np.ndarray, "*shape"]:
    r"""The energy score \(E\|X - y\| - \frac12 E\|X - X'\|\) of vectors, less is better.

    The CRPS in more than one dimension, by the fair estimator. Coordinates count in their own units.
    """
    n = _count(draws)
    off = np.linalg.norm(draws - truth, axis=-1).mean(axis=0)
    pairs = sum(np.linalg.norm(draws - draw, axis=-1).sum(axis=0) for draw in draws)
    return off - 0.5 * np.asarray(pairs) / (n * (n - 1))


def inside(
    draws: Float[np.ndarray, "draw *shape"],  # noqa: F821
    truth: Float[np.ndarray, "*shape"],
    level: float = 0.9,
) -> Bool[np.ndarray, "*shape"]:
    r"""Whether each truth lies in the central band, between the quantiles \((1 \mp c) / 2\).

    Where the forecast is right, that happens with probability c, but for an error of the order 1 / n.

    Args:
        draws: n of them.
        truth: what came; NaN is outside.
        level: c.
    """
    if not 0 < level < 1:
        raise ValueError(f"level is {level}, expected a share between 0 and 1.")
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return (low <= truth) & (truth <= high)


def _count(draws: np.ndarray) -> int:
    if len(draws) < 2:
        raise ValueError(f"{len(draws)} draw(s): a score needs at least 2.")
    return len(draws)
