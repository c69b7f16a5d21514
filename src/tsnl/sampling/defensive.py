r"""A proposal that no tail can escape: a posterior mixed with a wide Student's t.

A posterior \(\tilde q(z) / Z\), known up to its constant, alone may have tails that are too thin. Mixed,

.. math::
    f(z) = (1 - a) \, \tilde q(z) / Z + a \, t(z),

it is a proposal all the same (Owen and Zhou, 2000), and Z comes from draws of both parts by bridge
sampling (Meng and Wong, 1996), without anything but evaluations of \(\tilde q\).
"""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import gammaln, logsumexp

from tsnl.runtime.blocks import by_block
from tsnl.sampling.importance import Weights
from tsnl.sampling.spread import spread

FREEDOM, WIDEN = 5.0, 1.5  # of the Student's t: degrees, and its scale in that of the draws
SHRINK = 5.0  # pseudo-points behind the old covariance in a refitted one
BRIDGE = 1000  # draws of each part that find Z
BLOCK, BATCH = 256, 16  # points of one compiled call, and at once


class Student(eqx.Module):
    """A multivariate Student's t: where it is, its Cholesky factor, and the log of its constant."""

    mean: Float[Array, " size"]
    factor: Float[Array, "size size"]
    log_constant: Float[Array, ""]

    @staticmethod
    def of(mean: Float[np.ndarray, " size"], covariance: Float[np.ndarray, "size size"]) -> "Student":
        """Wider than draws of such a mean and covariance, and with heavier tails."""
        size = len(mean)
        factor = WIDEN * np.linalg.cholesky(covariance)
        constant = gammaln((FREEDOM + size) / 2) - gammaln(FREEDOM / 2)
        constant -= size / 2 * np.log(FREEDOM * np.pi) + np.log(np.diag(factor)).sum()
        dtype = jnp.result_type(float)
        return Student(*(jnp.asarray(x, dtype) for x in (mean, factor, constant)))

    def __call__(self, z: Float[Array, " size"]) -> Float[Array, ""]:
        """The log-density."""
        white = jax.scipy.linalg.solve_triangular(self.factor, z - self.mean, lower=True)
        power = (FREEDOM + z.shape[0]) / 2
        return self.log_constant - power * jnp.log1p(jnp.sum(white**2) / FREEDOM)

    def draw(self, rng: np.random.Generator, count: int) -> Float[np.ndarray, "count size"]:
        """Draws on the host."""
        size = len(self.mean)
        scale = np.sqrt(FREEDOM / rng.chisquare(FREEDOM, size=(count, 1)))
        white = scale * rng.normal(size=(count, size))
        found = np.asarray(self.mean) + white @ np.asarray(self.factor).T
        return found.astype(jnp.result_type(float))


class Defensive(eqx.Module):
    r"""\(\log f(z)\), normalised: a posterior known up to a constant, mixed with a Student's t.

    Attributes:
        posterior: its log-density, without the constant.
        log_z: the log of the constant.
        log_z_se: its standard error.
        wide: the Student's t.
        share: a, of the Student's t.
    """

    posterior: Callable[[Float[Array, " size"]], Float[Array, ""]]
    log_z: Float[Array, ""]
    log_z_se: Float[Array, ""]
    wide: Student
    share: float = eqx.field(static=True)

    @staticmethod
    def of(
        rng: np.random.Generator, posterior: Any, z: Float[np.ndarray, "n size"], share: float
    ) -> "Defensive":
        """Around draws of a posterior."""
        wide = Student.of(z.mean(axis=0), covariance(z))
        own, other = spread(rng, z, min(len(z), BRIDGE)), wide.draw(rng, BRIDGE)
        ratios = [values(posterior, x) - values(wide, x) for x in (own, other)]
        log_z, se = bridge(*ratios)
        dtype = jnp.result_type(float)  # as arrays they are no constants of compiled programs
        constant, error = jnp.asarray(log_z, dtype), jnp.asarray(se, dtype)
        return Defensive(posterior, constant, error, wide, share)

    def refitted(self, z: Float[np.ndarray, "n size"], weights: Weights, share: float) -> "Defensive":
        """With the Student's t where weighted points of the target are, in this share.

        Few effective points say little of a covariance: it is drawn to that of the t before.
        """
        mean = weights.values @ z
        centred = (z - mean).astype(np.float64)
        own = (centred * weights.values[:, None]).T @ centred
        old = np.asarray(self.wide.factor, np.float64) / WIDEN
        mixed = (weights.ess * own + SHRINK * old @ old.T) / (weights.ess + SHRINK)
        wide = Student.of(mean, mixed)
        return Defensive(self.posterior, self.log_z, self.log_z_se, wide, share)

    def hop_factor(self) -> Float[Array, "size size"]:
        """The Cholesky factor of a random walk's step on what the Student's t was fitted to."""
        return self.wide.factor * (2.38 / WIDEN / len(self.wide.mean) ** 0.5)

    def __call__(self, z: Float[Array, " size"]) -> Float[Array, ""]:
        """The log-density."""
        own = self.posterior(z) - self.log_z
        own = jnp.where(jnp.isnan(own), -jnp.inf, own)
        both = jnp.stack([own + jnp.log1p(-self.share), self.wide(z) + jnp.log(self.share)])
        return jax.nn.logsumexp(both)

    def draw(
        self, rng: np.random.Generator, z: Float[np.ndarray, "n size"], count: int
    ) -> Float[np.ndarray, "count size"]:
        """Draws of f, the right number of each part, given draws of the posterior; in no order."""
        wide = round(self.share * count)
        parts = [spread(rng, z, count - wide), self.wide.draw(rng, wide)]
        return rng.permutation(np.concatenate(parts).astype(jnp.result_type(float)))


def covariance(z: Float[np.ndarray, "n size"]) -> Float[np.ndarray, "size size"]:
    """Of draws, positive definite."""
    return np.atleast_2d(np.cov(z.T.astype(np.float64))) + 1e-10 * np.eye(z.shape[1])


def mixture(
    proposals: Sequence[Defensive], counts: Sequence[int], z: Float[np.ndarray, "n size"]
) -> Float[np.ndarray, " n"]:
    """The log-density of several proposals together, so many draws of each (Veach and Guibas, 1995)."""
    shares = np.log(np.asarray(counts) / np.sum(counts))
    parts = [values(f, z) + share for f, share in zip(proposals, shares, strict=True)]
    return logsumexp(np.stack(parts), axis=0)


def bridge(
    own: Float[np.ndarray, " n"], other: Float[np.ndarray, " m"], rounds: int = 50
) -> tuple[float, float]:
    r"""\(\log Z\) and its standard error from \(\log \tilde q - \log t\) at draws of each.

    The fixed point of Meng and Wong (1996), whose bridge function is optimal for independent draws:

    .. math::
        Z \leftarrow \frac{m^{-1} \sum_j l'_j / (s l'_j + s' Z)}{n^{-1} \sum_i 1 / (s l_i + s' Z)}.

    Raises:
        FloatingPointError: the density is nowhere finite.
    """
    own, other = (np.where(np.isnan(x), -np.inf, x).astype(np.float64) for x in (own, other))
    if not (np.isfinite(own).any() and np.isfinite(other).any()):
        raise FloatingPointError("The posterior's density is nowhere finite around its own draws.")
    n, m = len(own), len(other)
    log_z = float(np.median(own[np.isfinite(own)]))
    shares = np.log([n / (n + m), m / (n + m)])
    for _ in range(rounds):
        above = other - np.logaddexp(shares[0] + other, shares[1] + log_z)
        below = -np.logaddexp(shares[0] + own, shares[1] + log_z)
        log_z = float(logsumexp(above) - np.log(m) - logsumexp(below) + np.log(n))
    spreads = [_relative_variance(x) / len(x) for x in (above, below)]
    return log_z, float(np.sqrt(sum(spreads)))


def _relative_variance(log_x: Float[np.ndarray, " n"]) -> float:
    x = np.exp(log_x - log_x.max())
    return float(x.var(ddof=1) / x.mean() ** 2)


def values(function: Any, z: Float[np.ndarray, "n size"]) -> Float[np.ndarray, " n"]:
    """A function of z at many z, compiled once."""
    found = by_block(lambda part: _values(function, jnp.asarray(part)), z, BLOCK)
    return np.asarray(found, dtype=np.float64)


@eqx.filter_jit
def _values(function: Any, z: Float[Array, "n size"]) -> Float[Array, " n"]:
    return jax.lax.map(function, z, batch_size=BATCH)
