"""R-hat and effective sample size of Markov chains, as ArviZ defines them (Vehtari et al., 2021).

In numpy, and cheap enough to be asked while sampling: see docs/decisions/0012-own-diagnostics.md.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

LEAST = 4  # draws of a chain, below which nothing can be said


def r_hat(draws: Float[np.ndarray, "chain draw size"]) -> Float[np.ndarray, " size"]:
    """Rank-normalised split R-hat of each coordinate: near 1 when halves of chains agree.

    The larger of two: of the draws, for their location, and of their distances from the median, for
    their spread. Infinite where no chain moves; NaN of fewer than four draws.
    """
    if draws.shape[1] < LEAST:
        return np.full(draws.shape[2], np.nan)
    halves = _halves(draws)
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    return np.maximum(_r_hat(_normal_scores(halves)), _r_hat(_normal_scores(folded)))


def ess(draws: Float[np.ndarray, "chain draw size"]) -> Float[np.ndarray, " size"]:
    """Bulk effective sample size of each coordinate: of the mean of its normal scores.

    By Geyer's initial monotone sequence over halves of chains. Zero where no chain moves; NaN of fewer
    than four draws.
    """
    if draws.shape[1] < LEAST:
        return np.full(draws.shape[2], np.nan)
    scores = _normal_scores(_halves(draws))
    return np.array([_ess(scores[:, :, i]) for i in range(draws.shape[2])])


def health_note(r_hat: float, ess: float) -> str:
    """What a status says of chains that fall short."""
    return f"; the chains mix poorly: R-hat {r_hat:.3f}, effective sample size {ess:.0f}"


def _halves(draws: np.ndarray) -> Float[np.ndarray, "chain draw size"]:
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]]).astype(np.float64)


def _normal_scores(draws: np.ndarray) -> Float[np.ndarray, "chain draw size"]:
    """The normal quantile of each draw's rank in its coordinate, equal draws sharing a mean rank."""
    scores = np.empty(draws.shape)
    for i in range(draws.shape[2]):
        _, place, counts = np.unique(draws[:, :, i].ravel(), return_inverse=True, return_counts=True)
        ranks = np.cumsum(counts) - (counts - 1) / 2
        scores[:, :, i] = ndtri((ranks - 0.375) / (place.size + 0.25))[place].reshape(draws.shape[:2])
    return scores


def _r_hat(x: Float[np.ndarray, "chain draw size"]) -> Float[np.ndarray, " size"]:
    n = x.shape[1]
    within = x.var(axis=1, ddof=1).mean(axis=0)
    between = x.mean(axis=1).var(axis=0, ddof=1)
    moves = np.ptp(x, axis=1).any(axis=0)
    ratio = between / np.where(moves, within, 1.0)
    return np.where(moves, np.sqrt((n - 1) / n + ratio), np.inf)


def _ess(x: Float[np.ndarray, "chain draw"]) -> float:
    num_chains, n = x.shape
    if not np.ptp(x, axis=1).any():
        return 0.0
    centred = np.fft.rfft(x - x.mean(axis=1, keepdims=True), 2 * n, axis=1)
    covariance = np.fft.irfft(np.abs(centred) ** 2, axis=1)[:, :n].mean(axis=0) / n
    within = covariance[0] * n / (n - 1)
    total = covariance[0] + x.mean(axis=1).var(ddof=1)
    rho = 1 - (within - covariance) / total
    rho[0] = 1.0
    pairs = rho[: 2 * (n // 2)].reshape(-1, 2).sum(axis=1)
    last = max((n - 1) // 2 - 1, 0)
    stop = int(np.argmax(np.append(pairs[:last] <= 0, True)))  # the first pair that does not count
    half = rho[2 * stop] if pairs[stop] >= 0 else max(rho[2 * stop], 0.0)
    tau = -1 + 2 * np.minimum.accumulate(pairs[:stop]).sum() + half
    return float(num_chains * n / max(tau, 1 / np.log10(num_chains * n)))
