r"""Are ranks uniform? Exact tests, and bands that hold at all points at once.

A rank of the truth among L draws takes the values 0..L, each with probability 1 / (L + 1) where the
draws are right. Of N ranks the number at or below k is then binomial,
\(X_k \sim \mathrm{Bin}(N, z_k)\), \(z_k = (k + 1) / (L + 1)\). A band keeps every count whose tail
\(2 \min(P(X_k \le x), P(X_k \ge x))\) is at least \(\gamma\); \(\gamma\) is the largest one with which
all counts stay inside together with the probability asked for (Säilynoja, Bürkner and Vehtari, 2022).
That probability is computed, not simulated: the counts are a Markov chain along k.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import bdtr, bdtrc, gammaln

MAX_POINTS = 100
NUM_BINS = 100  # that PIT values are counted in
TIE = 1e-9  # two tails nearer than this, relatively, are one number rounded twice

Limits = tuple[Int[np.ndarray, " k"], Int[np.ndarray, " k"]]


@dataclass(frozen=True)
class Ecdf:
    """Shares of trials against the probabilities they should have.

    Attributes:
        points: probabilities between 0 and 1, increasing.
        share: the share of trials found at or below each.
        low: lower end of the band of shares.
        high: upper end.
        level: the probability, at least, with which a uniform sample stays inside at all points.
        p_value: of the largest departure from uniformity; at most 1 - level exactly where a share
            leaves the band.
    """

    points: Float[np.ndarray, " k"]
    share: Float[np.ndarray, " k"]
    low: Float[np.ndarray, " k"]
    high: Float[np.ndarray, " k"]
    level: float
    p_value: float

    @property
    def inside(self) -> bool:
        """Whether every share lies inside the band."""
        return bool(((self.share >= self.low) & (self.share <= self.high)).all())


def rank_ecdf(ranks: Int[np.ndarray, " trial"], num_draws: int, level: float = 0.95) -> Ecdf:
    """The shares of ranks at or below each, and the test that they are uniform on 0..num_draws.

    Args:
        ranks: one for each trial; the trials are independent.
        num_draws: L, the number of draws that each truth was ranked among.
        level: of the simultaneous band.
    """
    return count_ecdf(ranks, np.arange(num_draws), (1 + np.arange(num_draws)) / (num_draws + 1), level)


def pit_ecdf(pit: Float[np.ndarray, " rows"], level: float = 0.95) -> Ecdf:
    """The shares of PIT values below each percent, with the band that holds at all of them at once."""
    return rank_ecdf(np.minimum((NUM_BINS * pit).astype(int), NUM_BINS - 1), NUM_BINS - 1, level)


def count_ecdf(
    values: Int[np.ndarray, " trial"],
    steps: Int[np.ndarray, " k"],
    points: Float[np.ndarray, " k"],
    level: float = 0.95,
) -> Ecdf:
    """The shares of values at or below each step, and the test that they have its point's probability.

    Args:
        values: one for each trial.
        steps: increasing values to count up to; of more than 100 an even selection is taken.
        points: the probability of each, between 0 and 1.
        level: of the simultaneous band.
    """
    if not 0 < level < 1:
        raise ValueError(f"level is {level}, expected a probability between 0 and 1.")
    if len(values) < 1 or len(steps) < 1:
        raise ValueError(f"{len(values)} trials and {len(steps)} steps: at least one of each is needed.")
    some = np.unique(np.linspace(0, len(steps) - 1, min(len(steps), MAX_POINTS)).round().astype(int))
    n, z = len(values), points[some]
    counts = np.searchsorted(np.sort(values), steps[some], side="right")
    low, high = ecdf_band(n, tuple(z.tolist()), level)
    return Ecdf(z, counts / n, low / n, high / n, level, _p_value(counts, n, z))


@lru_cache(maxsize=64)
def ecdf_band(num_trials: int, points: tuple[float, ...], level: float = 0.95) -> Limits:
    """The least and the largest count inside the simultaneous band at each point."""
    z = np.array(points)
    tails = _tails(num_trials, z)
    return _widest(tails, lambda low, high: _stay(num_trials, z, low, high), level)


@lru_cache(maxsize=64)
def histogram_band(num_trials: int, num_bins: int, level: float = 0.95) -> tuple[int, int]:
    """The least and the largest count that all bins, equally likely, hold at once."""
    tails = _tails(num_trials, np.array([1 / num_bins]))
    low, high = _widest(tails, lambda a, b: _fill(num_trials, num_bins, int(a[0]), int(b[0])), level)
    return int(low[0]), int(high[0])


def _p_value(counts: Int[np.ndarray, " k"], num_trials: int, z: Float[np.ndarray, " k"]) -> float:
    """The probability of a tail as small as the smallest one, at any point."""
    tails = _tails(num_trials, z)
    least = float(tails[np.arange(len(z)), counts].min())
    keep = tails > least * (1 + TIE)
    if not keep.any(axis=1).all():
        return 1.0
    inside = _stay(num_trials, z, *_limits(keep))
    # between half of the least tail and its sum over all points: this holds where 1 - inside rounds to 0
    return float(np.clip(1 - inside, least / 2, min(len(z) * least, 1.0)))


def _tails(num_trials: int, z: Float[np.ndarray, " k"]) -> Float[np.ndarray, "k counts"]:
    """2 min(P(X <= x), P(X >= x)) of X ~ Bin(num_trials, z) at every x."""
    x = np.arange(num_trials + 1)
    below = bdtr(x, num_trials, z[:, None])
    above = np.concatenate([np.ones((len(z), 1)), bdtrc(x[:-1], num_trials, z[:, None])], axis=1)
    return 2 * np.minimum(below, above)


def _limits(keep: Bool[np.ndarray, "k counts"]) -> Limits:
    """First and last count kept at each point."""
    return keep.argmax(axis=1), keep.shape[1] - 1 - keep[:, ::-1].argmax(axis=1)


def _widest(
    tails: Float[np.ndarray, "k counts"],
    inside_fn: Callable[[np.ndarray, np.ndarray], float],
    level: float,
) -> Limits:
    """The limits of the largest gamma with which the chance to stay inside is at least the level."""
    gammas = np.unique(tails)
    gammas = gammas[gammas <= tails.max(axis=1).min()]  # at every point some count is left
    first, last = 0, len(gammas) - 1  # the first keeps every count
    while first < last:
        middle = (first + last + 1) // 2
        enough = inside_fn(*_limits(tails >= gammas[middle] * (1 - TIE))) >= level
        first, last = (middle, last) if enough else (first, middle - 1)
    return _limits(tails >= gammas[first] * (1 - TIE))


def _stay(
    n: int, z: Float[np.ndarray, " k"], low: Int[np.ndarray, " k"], high: Int[np.ndarray, " k"]
) -> float:
    """The probability that all counts lie in low..high, both of which increase along z.

    The values between one point and the next are Poisson counts, given that all of them sum to n.
    """
    rates = n * np.diff(z, prepend=0.0, append=1.0)
    jumps = _poisson(np.arange(np.max(high - np.append(0, low[:-1])) + 1), rates[:-1, None])
    chance, first = np.ones(1), 0
    for jump, least, most in zip(jumps, low, high, strict=True):
        chance = np.convolve(chance, jump)[least - first : most - first + 1]
        first = least
    rest = _poisson(n - first - np.arange(len(chance)), rates[-1])
    return float(chance @ rest / _poisson(np.array([n]), n)[0])


def _fill(n: int, num_bins: int, low: int, high: int) -> float:
    """The probability that all bins, Poisson counts that sum to n, hold low..high."""
    one, total = _poisson(np.arange(low, high + 1), n / num_bins), np.ones(1)
    for _ in range(num_bins):
        total = np.convolve(total, one)
    rest = n - num_bins * low
    return float(total[rest] / _poisson(np.array([n]), n)[0]) if 0 <= rest < len(total) else 0.0


def _poisson(x: np.ndarray, rate: Any) -> np.ndarray:
    return np.exp(x * np.log(rate) - rate - gammaln(x + 1.0))
