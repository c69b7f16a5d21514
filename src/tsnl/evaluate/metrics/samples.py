"""Distances between samples and densities."""

import numpy as np
from jaxtyping import Float, Int

from tsnl.evaluate.metrics.truth import silverman

ROWS = 1000  # rows of a matrix of distances held at a time


def total_variation(
    p: Float[np.ndarray, " grid"], q: Float[np.ndarray, " grid"], grid: Float[np.ndarray, " grid"]
) -> float:
    r"""\(\frac12 \int |p - q|\) of two densities on one grid, each normalised there first."""
    p, q = (density / np.trapezoid(density, grid) for density in (p, q))
    return float(0.5 * np.trapezoid(np.abs(p - q), grid))


def c2st(
    p: Float[np.ndarray, "n size"],
    q: Float[np.ndarray, "n size"],
    *,
    seed: int = 0,
    num_folds: int = 5,
    width: int = 32,
    num_steps: int = 600,
) -> float:
    """Classifier two-sample test: the accuracy with which a small network tells p from q.

    Five-fold cross-validated, on as many draws of the one as of the other, standardised by p. One half
    is indistinguishable, one is disjoint (Lopez-Paz and Oquab, 2017).

    Args:
        p: draws of the reference.
        q: draws to compare with it.
        seed: of the folds and the networks.
        num_folds: how many parts.
        width: units in each of two hidden layers.
        num_steps: full-batch steps of Adam.
    """
    if p.shape != q.shape:
        raise ValueError(f"p has shape {p.shape} and q {q.shape}: give equal numbers of draws.")
    from tsnl.evaluate.classifier import accuracy  # compiled only when asked for

    x = np.concatenate([p, q])
    x = (x - p.mean(axis=0)) / (p.std(axis=0) + 1e-12)
    label = np.repeat([0.0, 1.0], len(p))
    return accuracy(x, label, seed, num_folds, width, num_steps)


def kolmogorov_smirnov(
    p: Float[np.ndarray, "n size"], q: Float[np.ndarray, "m size"]
) -> Float[np.ndarray, " size"]:
    r"""\(\sup_x |F_p(x) - F_q(x)|\) of the empirical distribution functions of each coordinate."""
    from scipy.stats import ks_2samp  # slow to import

    pairs = zip(p.T, q.T, strict=True)
    return np.array([ks_2samp(a, b, method="asymp").statistic for a, b in pairs])


def marginal_total_variation(
    p: Float[np.ndarray, "n size"], q: Float[np.ndarray, "m size"], num_points: int = 1024
) -> Float[np.ndarray, " size"]:
    r"""\(\frac12 \int |\hat p_j - \hat q_j|\) of kernel density estimates of each coordinate j.

    Gaussian kernels with one bandwidth for both samples, Silverman's of the smaller one. The estimate
    is above zero for equal laws, by about \(0.6 n^{-2/5}\) where they are near normal: compare it with
    that of two halves of p.

    Args:
        p: draws of the one.
        q: draws of the other.
        num_points: points of the grid that covers both samples.
    """

    def one(a: np.ndarray, b: np.ndarray) -> float:
        h = max(silverman(min(a, b, key=len)[:, None])[0], 1e-12)
        low, high = min(a.min(), b.min()) - 5 * h, max(a.max(), b.max()) + 5 * h
        edges = np.linspace(low, high, num_points + 1)
        grid = (edges[1:] + edges[:-1]) / 2
        kernel = np.exp(-0.5 * ((grid - grid[num_points // 2]) / h) ** 2)
        smooth_a, smooth_b = (np.convolve(np.histogram(x, edges)[0], kernel, "same") for x in (a, b))
        return total_variation(smooth_a, smooth_b, grid)

    return np.array([one(a, b) for a, b in zip(p.T, q.T, strict=True)])


def sliced_wasserstein(
    p: Float[np.ndarray, "n size"],
    q: Float[np.ndarray, "m size"],
    *,
    seed: int = 0,
    num_directions: int = 200,
    order: float = 2.0,
    scale: Float[np.ndarray, " size"] | None = None,
) -> float:
    r"""The Wasserstein distance of projections on a line, averaged over directions u of the sphere.

    .. math::
        SW_r = \Big( \mathbb E_u \int_0^1 |F_{u \cdot p}^{-1}(t) - F_{u \cdot q}^{-1}(t)|^r \, dt
        \Big)^{1/r}.

    Args:
        p: draws of the one.
        q: draws of the other; their number may differ.
        seed: of the directions.
        num_directions: how many.
        order: r.
        scale: divides the coordinates first, such as the reference's standard deviations.
    """
    p, q = (p, q) if scale is None else (p / scale, q / scale)
    u = np.random.default_rng(seed).normal(size=(p.shape[1], num_directions))
    u /= np.linalg.norm(u, axis=0)
    index_p, index_q, weight = _coupling(len(p), len(q))
    gaps = np.sort(p @ u, axis=0)[index_p] - np.sort(q @ u, axis=0)[index_q]
    return float(np.mean(weight @ np.abs(gaps) ** order) ** (1 / order))


def _coupling(
    n: int, m: int
) -> tuple[Int[np.ndarray, " k"], Int[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Which sorted draw of n meets which of m, and with what weight: quantile to quantile."""
    edges = np.union1d(np.arange(n + 1) * m, np.arange(m + 1) * n)  # in units of 1 / (n m)
    return edges[:-1] // m, edges[:-1] // n, np.diff(edges) / (n * m)


def squared_mmd(
    p: Float[np.ndarray, "n size"],
    q: Float[np.ndarray, "m size"],
    *,
    bandwidth: float | None = None,
    scale: Float[np.ndarray, " size"] | None = None,
) -> float:
    r"""The squared maximum mean discrepancy, unbiased: it may fall below zero (Gretton et al., 2012).

    .. math::
        \frac{\sum_{i \ne j} k(p_i, p_j)}{n (n - 1)} + \frac{\sum_{i \ne j} k(q_i, q_j)}{m (m - 1)}
        - \frac{2 \sum_{i, j} k(p_i, q_j)}{n m},
        \qquad k(x, y) = e^{-\|x - y\|^2 / 2 h^2}.

    Args:
        p: draws of the one.
        q: draws of the other.
        bandwidth: h; None takes the median distance of all draws together, found from 1000 of each.
        scale: divides the coordinates first, such as the reference's standard deviations.
    """
    centre, unit = p.mean(axis=0), 1.0 if scale is None else scale
    p, q = (p - centre) / unit, (q - centre) / unit  # small numbers, so that distances keep their digits
    if bandwidth is None:
        some = np.concatenate([x[:: -(-len(x) // ROWS)] for x in (p, q)])
        squared = _squared_distances(some, some)[np.triu_indices(len(some), 1)]
        bandwidth = float(np.sqrt(np.median(squared)))
    if not bandwidth > 0:
        raise ValueError(f"The bandwidth is {bandwidth}, expected positive: most draws are equal.")
    n, m = len(p), len(q)
    within_p = (_kernel_sum(p, p, bandwidth) - n) / (n * (n - 1))
    within_q = (_kernel_sum(q, q, bandwidth) - m) / (m * (m - 1))
    return within_p + within_q - 2 * _kernel_sum(p, q, bandwidth) / (n * m)


def _kernel_sum(x: np.ndarray, y: np.ndarray, bandwidth: float) -> float:
    parts = (_squared_distances(x[i : i + ROWS], y) for i in range(0, len(x), ROWS))
    return float(sum(np.exp(-part / (2 * bandwidth**2)).sum() for part in parts))


def _squared_distances(x: np.ndarray, y: np.ndarray) -> Float[np.ndarray, "n m"]:
    from scipy.spatial.distance import cdist  # slow to import

    return cdist(x, y, "sqeuclidean")
