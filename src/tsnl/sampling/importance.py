"""Weighted draws: Pareto-smoothed weights, and how far they can be trusted."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp

from tsnl.sampling import resampling

MAX_K_HAT = 0.7  # above it, weighted means are not to be trusted (Vehtari et al., 2024)
FEWEST = 25  # finite weights below which there is no tail to fit


@dataclass(frozen=True)
class Weights:
    """Pareto-smoothed weights of draws.

    Attributes:
        log_weights: normalised.
        k_hat: shape of the tail of the raw ones; infinite where there are too few to tell.
        ess: effective sample size of the smoothed ones.
        log_mean: log of the mean raw weight.
        log_mean_se: its standard error.
    """

    log_weights: Float[np.ndarray, " n"]
    k_hat: float
    ess: float
    log_mean: float
    log_mean_se: float

    @staticmethod
    def of(log_ratio: Float[np.ndarray, " n"]) -> "Weights":
        """Smooth the largest of some log-ratios of target and proposal; NaN has no weight.

        Raises:
            FloatingPointError: no draw has any weight.
        """
        raw = np.where(np.isnan(log_ratio), -np.inf, log_ratio).astype(np.float64)
        finite = np.isfinite(raw)
        if not finite.any():
            raise FloatingPointError(
                f"None of {len(raw)} draws has a positive density under the target: they lie where it "
                f"has no mass."
            )
        log_mean = float(logsumexp(raw) - np.log(len(raw)))
        relative = np.exp(raw - log_mean)
        se = float(relative.std(ddof=1) / len(raw) ** 0.5) if len(raw) > 1 else float("inf")
        smooth, k_hat = np.full(len(raw), -np.inf), float("inf")
        smooth[finite] = raw[finite] - logsumexp(raw[finite])
        if np.ptp(raw[finite]) == 0 and finite.all():
            k_hat = 0.0
        elif finite.sum() >= FEWEST:
            smooth[finite], k_hat = _smoothed(smooth[finite])
        return Weights(smooth, k_hat, float(resampling.ess(np.exp(smooth))), log_mean, se)

    @property
    def values(self) -> Float[np.ndarray, " n"]:
        """The weights themselves."""
        return np.exp(self.log_weights)

    @property
    def usable(self) -> bool:
        """Whether weighted means can be trusted."""
        return self.k_hat <= MAX_K_HAT

    def pick(self, rng: np.random.Generator, count: int) -> Int[np.ndarray, " count"]:
        """Places of so many draws of equal weight, in no order."""
        return rng.permutation(resampling.resample(self.values, count, rng.uniform()))


def _smoothed(log_weights: Float[np.ndarray, " n"]) -> tuple[Float[np.ndarray, " n"], float]:
    from arviz_stats.base.array import array_stats  # takes seconds to import

    try:
        with np.errstate(all="ignore"):
            smooth, k_hat = array_stats.psislw(-log_weights)
    except ValueError:  # the largest weights are all the same: no tail
        return log_weights, 0.0
    if not (np.isfinite(k_hat) and np.isfinite(smooth).all()):  # most of the tail is: nothing fits it
        return log_weights, float("inf")
    return np.asarray(smooth, dtype=np.float64), float(k_hat)
