r"""Errors of draws \(\hat\theta_1, \dots, \hat\theta_K\) against the true \(\theta_0\).

All lengths are Euclidean, in the distinct constrained coordinates.
"""

from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp


def kde_error(
    draws: Float[np.ndarray, "K size"],
    truth: Float[np.ndarray, " size"],
    bandwidth: float | Literal["silverman"] = 1.0,
) -> float:
    r"""Minus the log of a kernel density estimate at the truth.

    .. math::
        E_{KDE} = -\log \frac1K \sum_{k=1}^K N(\theta_0 \mid \hat\theta_k, \operatorname{diag}(h^2)).

    Args:
        draws: draws of the posterior.
        truth: the true coordinates.
        bandwidth: h, the same for every coordinate; "silverman" takes `silverman(draws)`. The standard
            normal kernel, h = 1, is the paper's: where coordinates are small it tells little apart.
    """
    h = silverman(draws) if bandwidth == "silverman" else np.full(len(truth), float(bandwidth))
    if not (h > 0).all():
        raise ValueError(f"The bandwidth is {h.tolist()}, expected positive: are the draws constant?")
    exponents = -0.5 * np.sum(((draws - truth) / h) ** 2, axis=1, dtype=np.float64)
    log_sum = logsumexp(exponents) - np.log(len(draws))
    return float(-log_sum + 0.5 * len(truth) * np.log(2 * np.pi) + np.log(h).sum())


def silverman(draws: Float[np.ndarray, "K size"]) -> Float[np.ndarray, " size"]:
    r"""Silverman's bandwidths \(h_j = s_j (4 / ((d + 2) K))^{1 / (d + 4)}\), s the sds, d the size."""
    num_draws, size = draws.shape
    factor = (4 / ((size + 2) * num_draws)) ** (1 / (size + 4))
    return factor * draws.std(axis=0, ddof=1, dtype=np.float64)


def min_distance(draws: Float[np.ndarray, "K size"], truth: Float[np.ndarray, " size"]) -> float:
    r"""The distance of the nearest draw, \(E_{min} = \min_k \|\theta_0 - \hat\theta_k\|\)."""
    return float(np.linalg.norm(np.subtract(draws, truth, dtype=np.float64), axis=1).min())


def kde_error_bounds(
    min_distance: float, num_draws: int, size: int, bandwidth: float = 1.0
) -> tuple[float, float]:
    r"""Between which two values the smallest distance holds the kernel density error.

    .. math::
        \frac{E_{min}^2}{2 h^2} + \frac d2 \log 2\pi h^2 \;\le\; E_{KDE} \;\le\;
        \frac{E_{min}^2}{2 h^2} + \frac d2 \log 2\pi h^2 + \log K.

    Args:
        min_distance: E_min.
        num_draws: K.
        size: d, the number of coordinates.
        bandwidth: h, common to all coordinates.
    """
    low = 0.5 * (min_distance / bandwidth) ** 2 + 0.5 * size * np.log(2 * np.pi * bandwidth**2)
    return float(low), float(low + np.log(num_draws))


def bias(draws: Float[np.ndarray, "K size"], truth: Float[np.ndarray, " size"]) -> float:
    r"""The distance \(\|\theta_0 - \bar\theta\|\) of the mean draw."""
    return float(np.linalg.norm(draws.mean(axis=0, dtype=np.float64) - truth))


def standard_deviation(draws: Float[np.ndarray, "K size"]) -> float:
    r"""The spread around the mean, \(\sqrt{\frac1K \sum_k \|\hat\theta_k - \bar\theta\|^2}\)."""
    return float(np.sqrt(draws.var(axis=0, dtype=np.float64).sum()))


def rmse(draws: Float[np.ndarray, "K size"], truth: Float[np.ndarray, " size"]) -> float:
    r"""The root of the mean squared distance.

    .. math::
        \mathrm{RMSE} = \sqrt{\frac1K \sum_k \|\theta_0 - \hat\theta_k\|^2}
        = \sqrt{\mathrm{bias}^2 + \mathrm{sd}^2}.
    """
    return float(np.hypot(bias(draws, truth), standard_deviation(draws)))


def errors(draws: Float[np.ndarray, "K size"], truth: Float[np.ndarray, " size"]) -> dict[str, float]:
    """All errors of this file by name, as the experiments report them."""
    return {
        "kde": kde_error(draws, truth),
        "min": min_distance(draws, truth),
        "bias": bias(draws, truth),
        "sd": standard_deviation(draws),
        "rmse": rmse(draws, truth),
    }
