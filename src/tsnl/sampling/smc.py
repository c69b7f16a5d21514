"""Weighted particles that follow a posterior as data arrive (Chopin, 2002)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.sampling import resampling
from tsnl.sampling.metropolis import accept

BATCH = 64  # particles evaluated at once
MOVES = 4  # Metropolis steps between two looks at how many particles moved
MOVED = 2.0  # accepted steps for each particle, on average, that make a cloud fresh
MAX_LOOKS = 10


class Cloud(NamedTuple):
    """Particles of z and their log-weights, normalised."""

    z: Float[np.ndarray, "particle size"]
    log_weights: Float[np.ndarray, " particle"]

    @staticmethod
    def even(z: Float[np.ndarray, "particle size"]) -> "Cloud":
        """All weights alike."""
        return Cloud(z, np.full(len(z), -np.log(len(z))))

    @property
    def weights(self) -> Float[np.ndarray, " particle"]:
        """The weights themselves."""
        return np.exp(self.log_weights)

    @property
    def ess(self) -> float:
        """The effective sample size."""
        return float(resampling.ess(self.weights))

    def reweigh(self, log_factor: Float[np.ndarray, " particle"]) -> tuple["Cloud", float]:
        r"""Weights times a factor, and \(\log \sum_i w_i f_i\)."""
        joint = self.log_weights + np.where(np.isnan(log_factor), -np.inf, log_factor)
        top = joint.max()
        if not np.isfinite(top):
            raise FloatingPointError(
                "No particle gives the new rows a positive density: check their units, or fit again."
            )
        score = float(top + np.log(np.sum(np.exp(joint - top))))
        return Cloud(self.z, joint - score), score

    def resample(self, key: Key[Array, ""]) -> "Cloud":
        """Equal weights, particles in proportion to theirs."""
        offset = float(jax.random.uniform(key))
        return Cloud.even(self.z[resampling.resample(self.weights, len(self.z), offset)])

    def covariance(self) -> Float[np.ndarray, "size size"]:
        """Of the weighted particles."""
        centred = self.z - self.weights @ self.z
        return (centred * self.weights[:, None]).T @ centred


def rejuvenate(
    key: Key[Array, ""], log_density: Callable[[Float[Array, " size"]], Float[Array, ""]], cloud: Cloud
) -> Cloud:
    """Resample, then Metropolis steps that leave the target as it is, until the particles have moved."""
    key_resample, key_move = jax.random.split(key)
    size = cloud.z.shape[1]
    ridge = 1e-10 * np.eye(size)
    factor = np.linalg.cholesky(cloud.covariance() + ridge) * 2.38 / size**0.5
    z: Any = cloud.resample(key_resample).z
    values = _values(log_density, z)
    moved, look = 0.0, 0
    while moved < MOVED and look < MAX_LOOKS:
        z, values, rate = _move(jax.random.fold_in(key_move, look), log_density, z, values, factor)
        moved, look = moved + MOVES * float(rate), look + 1
        if rate < 0.15:
            factor = factor * 0.5
    return Cloud.even(np.asarray(z))


@eqx.filter_jit
def _values(log_density: Any, z: Float[Array | np.ndarray, "n size"]) -> Float[Array, " n"]:
    values = jax.lax.map(log_density, jnp.asarray(z), batch_size=BATCH)
    return jnp.where(jnp.isnan(values), -jnp.inf, values)


@eqx.filter_jit
def _move(
    key: Key[Array, ""], log_density: Any, z: Any, values: Array, factor: Any
) -> tuple[Array, Array, Array]:
    """A few Metropolis steps of all particles, and the rate at which they were accepted."""

    def step(carry: tuple[Array, Array], t: Array) -> tuple[tuple[Array, Array], Array]:
        z, values = carry
        key_move, key_accept = jax.random.split(jax.random.fold_in(key, t))
        proposed = z + jax.random.normal(key_move, z.shape) @ factor.T
        new = _values(log_density, proposed)
        carry, moved, _ = accept(key_accept, new - values, (proposed, new), carry)
        return carry, jnp.mean(moved)

    start = jnp.asarray(z), jnp.asarray(values)
    (z, values), rates = jax.lax.scan(step, start, jnp.arange(MOVES))
    return z, values, jnp.mean(rates)
