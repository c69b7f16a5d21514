"""R-hat and effective sample size of chains, in numpy: cheap enough to ask after every block."""

import numpy as np
from jaxtyping import Float


def split_r_hat(draws: Float[np.ndarray, "chain draw size"]) -> Float[np.ndarray, " size"]:
    """Split R-hat of each coordinate (Gelman et al., 2013): near 1 when halves of chains agree."""
    half = draws.shape[1] // 2
    split = np.concatenate([draws[:, :half], draws[:, half : 2 * half]]).astype(np.float64)
    within = split.var(axis=1, ddof=1).mean(axis=0)
    between = split.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        r_hat = np.sqrt((half - 1) / half + between / within)
    return np.where(within > 0, r_hat, np.inf)


def effective_sizes(draws: Float[np.ndarray, "chain draw size"]) -> Float[np.ndarray, " size"]:
    """Effective sample size of each coordinate's mean, by Geyer's initial monotone sequence."""
    return np.array([_effective_size(draws[:, :, i].astype(np.float64)) for i in range(draws.shape[2])])


def _effective_size(x: Float[np.ndarray, "chain draw"]) -> float:
    num_chains, n = x.shape
    centred = x - x.mean(axis=1, keepdims=True)
    padded = np.fft.rfft(centred, 2 * n, axis=1)
    covariance = np.fft.irfft(np.abs(padded) ** 2, axis=1)[:, :n].mean(axis=0) / n
    within = covariance[0] * n / (n - 1)
    between = x.mean(axis=1).var(ddof=1) if num_chains > 1 else 0.0
    total = within * (n - 1) / n + between
    if not total > 0:
        return 0.0
    rho = 1 - (within - covariance * n / (n - 1)) / total
    rho[0] = 1.0
    pairs = rho[: 2 * (n // 2)].reshape(-1, 2).sum(axis=1)
    positive = np.cumprod(pairs > 0).astype(bool)
    monotone = np.minimum.accumulate(np.where(positive, pairs, 0.0))
    tau = max(-1 + 2 * monotone.sum(), 1 / np.log10(max(num_chains * n, 10)))
    return float(num_chains * n / tau)
