r"""The next tolerance of SMC-ABC, from how much the last one narrowed the posterior.

Generation t has the density \(p_t\), the one before it \(p_{t-1}\). Where the ratio
\(r = p_t / p_{t-1}\) has the supremum c, a rejection sampler would keep the share 1/c of
\(p_{t-1}\) to get \(p_t\). The next tolerance keeps that share of the accepted distances. As the
posterior stops moving, c goes to one and nothing is gained by going on.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from tsnl.sampling.resampling import resample

DistanceWeight = Literal["uniform", "gaussian"]
DISTANCE_WEIGHTS = ("uniform", "gaussian")

MAX_CENTRES = 100  # of the mixture: more cost time and change little
WIDTHS = (32.0, 16.0, 8.0, 4.0, 2.0, 1.0, 0.5)  # in standard deviations of the new generation
NUM_FOLDS = 2
ERRORS = 1.0
MAX_STEPS = 150
SMALL = 1e-5  # gain in mean log-ratio of a step that ends the iteration
NUM_STARTS = 64
NUM_SHIFTS = 100


@dataclass(frozen=True)
class Ratio:
    r"""The density ratio \(r(z) = \sum_m \alpha_m \exp(-\|z - z_m\|^2 / 2 \sigma^2)\).

    Norms are those of the new generation's inverse covariance.

    Attributes:
        centres: the z_m, particles of the old generation, whitened.
        alpha: non-negative.
        width: sigma.
        whiten: z @ whiten has unit covariance over the new generation.
    """

    centres: Float[np.ndarray, "m size"]
    alpha: Float[np.ndarray, " m"]
    width: float
    whiten: Float[np.ndarray, "size size"]

    def __call__(self, z: Float[np.ndarray, "n size"]) -> Float[np.ndarray, " n"]:
        """The ratio at z."""
        return bumps(z @ self.whiten, self.centres, self.width) @ self.alpha

    def supremum(self, z: Float[np.ndarray, "n size"]) -> float:
        r"""The largest value, climbing from the best of some points.

        Mean shift, \(z \leftarrow \sum_m \alpha_m e_m(z) z_m / \sum_m \alpha_m e_m(z)\) with
        \(e_m(z) = \exp(-\|z - z_m\|^2 / 2 \sigma^2)\), never goes down.
        """
        points = z @ self.whiten
        values = bumps(points, self.centres, self.width) @ self.alpha
        order = np.argsort(-values, kind="stable")
        # Half of the starts are the best points, half are spread over all the others.
        starts = np.concatenate([order[: NUM_STARTS // 2], order[:: -(-2 * len(order) // NUM_STARTS)]])
        here = points[starts]
        highest = float(values.max())
        for step in range(NUM_SHIFTS):
            mass = bumps(here, self.centres, self.width) * self.alpha
            total = mass.sum(axis=1)
            if step > 9 and total.max() - highest < SMALL * highest:
                break
            highest = max(highest, float(total.max()))
            here = mass @ self.centres / np.maximum(total, 1e-300)[:, None]
        return highest


def bumps(
    a: Float[np.ndarray, "n size"], b: Float[np.ndarray, "m size"], width: float
) -> Float[np.ndarray, "n m"]:
    r"""\(\exp(-\|a_i - b_j\|^2 / 2 \sigma^2)\) for all pairs."""
    return np.exp(squares(a, b) / (-2 * width**2))


def squares(a: Float[np.ndarray, "n size"], b: Float[np.ndarray, "m size"]) -> Float[np.ndarray, "n m"]:
    """Squared Euclidean distances of all pairs."""
    from scipy.spatial.distance import cdist  # here: slow to import

    return cdist(a, b, "sqeuclidean")


def fit_ratio(
    new: Float[np.ndarray, "n size"],
    new_weights: Float[np.ndarray, " n"],
    old: Float[np.ndarray, "k size"],
    old_weights: Float[np.ndarray, " k"],
) -> Ratio:
    r"""Fit the ratio of two weighted clouds by maximum likelihood.

    It maximises \(\sum_n w_n \log r(z_n)\) over the new particles under the constraint that the mean
    of r over the old particles is one, \(\sum_k v_k \, r(z_k) = 1\), without which r is no ratio of
    densities and its supremum may be below one. The width is the one with the best log-ratio on new
    particles that were held out.
    """
    mean = new_weights @ new
    covariance = (new - mean).T @ ((new - mean) * new_weights[:, None])
    covariance += 1e-12 * (np.trace(covariance) + 1e-300) * np.eye(len(mean))
    whiten = np.linalg.inv(np.linalg.cholesky(covariance)).T
    a, b = new @ whiten, old @ whiten
    centres = b[resample(old_weights, min(len(old), MAX_CENTRES))]
    to_new, to_old = squares(a, centres), squares(b, centres)
    matrices = [np.exp(to_new / (-2 * width**2)) for width in WIDTHS]
    means = [old_weights @ np.exp(to_old / (-2 * width**2)) for width in WIDTHS]
    scores = np.stack([held_out(E, new_weights, e0) for E, e0 in zip(matrices, means, strict=True)])
    chosen = widest_good(scores, new_weights)
    alpha = fit_alpha(matrices[chosen], new_weights, means[chosen])
    return Ratio(centres, alpha, WIDTHS[chosen], whiten)


def widest_good(scores: Float[np.ndarray, "width n"], weights: Float[np.ndarray, " n"]) -> int:
    """The first width whose mean score is within one standard error of the best.

    The error is that of the difference: the scores are of the same particles. A narrow width that is
    not clearly better would put the supremum where a few particles happen to lie.
    """
    behind = scores[np.argmax(scores @ weights)] - scores
    mean = behind @ weights
    error = np.sqrt((behind - mean[:, None]) ** 2 @ weights**2)
    return int(np.argmax(mean <= ERRORS * error))


def fit_alpha(
    E: Float[np.ndarray, "n m"], weights: Float[np.ndarray, " n"], e0: Float[np.ndarray, " m"]
) -> Float[np.ndarray, " m"]:
    r"""The fixed point of \(\alpha \leftarrow \alpha / e^0 \odot E^\top (w / E \alpha)\).

    Every step raises the log-ratio and keeps \(\alpha^\top e^0 = 1\).

    Args:
        E: bumps of the new particles (rows) around the centres.
        weights: of the new particles, adding up to one.
        e0: mean bump of the old particles around each centre.
    """
    alpha = np.full(len(e0), 1 / e0.sum())
    before = -np.inf
    for step in range(MAX_STEPS):
        r = np.maximum(E @ alpha, 1e-300)
        alpha *= (E.T @ (weights / r)) / e0
        if step % 10 == 9:
            now = weights @ np.log(r)
            if now - before < 10 * SMALL:
                break
            before = now
    return alpha


def held_out(
    E: Float[np.ndarray, "n m"], weights: Float[np.ndarray, " n"], e0: Float[np.ndarray, " m"]
) -> Float[np.ndarray, " n"]:
    """Log-ratio at each new particle, by a fit that did not see it."""
    found = np.zeros(len(weights))
    for fold in range(NUM_FOLDS):
        out = np.arange(len(weights)) % NUM_FOLDS == fold
        kept = np.where(out, 0.0, weights)
        r = E[out] @ fit_alpha(E, kept / max(kept.sum(), 1e-300), e0)
        found[out] = np.log(np.maximum(r, 1e-300))
    return found


def accept(
    rng: np.random.Generator,
    distances: Float[np.ndarray, " n"],
    tolerance: float,
    distance_weight: DistanceWeight,
) -> Bool[np.ndarray, " n"]:
    """Which candidates to accept: each with the probability that is the weight of its distance."""
    return np.log(rng.uniform(size=len(distances))) <= log_weight(distances, tolerance, distance_weight)


def log_weight(
    distances: Float[np.ndarray, " n"],
    tolerance: float | Float[np.ndarray, " n"],
    distance_weight: DistanceWeight,
) -> Float[np.ndarray, " n"]:
    r"""\(\log 1[d \le \epsilon]\) where uniform, \(-d^2 / 2\epsilon^2\) where Gaussian."""
    if distance_weight == "uniform":
        return np.where(distances <= tolerance, 0.0, -np.inf)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = -((distances / tolerance) ** 2) / 2
    return np.where(np.isnan(found), 0.0, found)  # at distance zero with tolerance zero


def tighten(
    distances: Float[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"],
    tolerance: float,
    share: float,
    distance_weight: DistanceWeight,
) -> float:
    r"""The tolerance at which a share of the accepted would be accepted again.

    With the uniform weight this is the quantile of the accepted distances. With a Gaussian one it is
    the \(\epsilon'\) of \(\sum_i w_i \exp(-u d_i^2 / 2) = \text{share}\), where
    \(u = \epsilon'^{-2} - \epsilon^{-2}\).
    """
    weights = weights / weights.sum()
    if distance_weight == "uniform":
        order = np.argsort(distances, kind="stable")
        place = int(np.searchsorted(np.cumsum(weights[order]), share - 1e-9))
        return float(distances[order[min(place, len(order) - 1)]])

    from scipy.optimize import brentq  # here: slow to import

    def beyond(log_u: float) -> float:
        return float(weights @ np.exp(-np.exp(log_u) * distances**2 / 2)) - share

    low, high = -80.0, 80.0  # where no u keeps more, or none keeps less, the nearest
    log_u = low if beyond(low) <= 0 else high if beyond(high) >= 0 else brentq(beyond, low, high)
    return float((np.exp(log_u) + tolerance**-2.0) ** -0.5)
