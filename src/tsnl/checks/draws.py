"""Draws of a result as the checks use them: unconstrained, thinned, weighted."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsnl.likelihood.surrogate import SurrogateLikelihood
from tsnl.runtime.compilation import compiled_lightly

BATCH = 10  # draws side by side; it divides their number, else a second program is made for the rest


def member_log_likelihoods(
    likelihood: SurrogateLikelihood, z: Float[np.ndarray, "n size"]
) -> Float[np.ndarray, "n M"]:
    """The log-likelihood by each member of the ensemble alone."""
    return np.asarray(_member_log_likelihoods(likelihood, jnp.asarray(z)))


def log_likelihoods(likelihood: Any, z: Float[np.ndarray, "n size"]) -> Float[np.ndarray, " n"]:
    """The log-likelihood at many z."""
    return np.asarray(_log_likelihoods(likelihood, jnp.asarray(z)))


def weights(log_ratio: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Importance weights that sum to one, the largest cut off (Ionides, 2008).

    A weight above sqrt(n) times the mean is cut: then no few draws decide all.
    """
    w = np.exp((log_ratio - log_ratio.max()).astype(float))
    w = np.minimum(w, np.sqrt(len(w)) * w.mean())
    return w / w.sum()


def weighted_shift(
    z: Float[np.ndarray, "n size"], old: Float[np.ndarray, " n"], new: Float[np.ndarray, " n"]
) -> float:
    """How far apart two sets of weights put the posterior.

    The largest change of a mean, in sds of the draws, or of a log sd.
    """
    scaled = (z - z.mean(axis=0)) / (z.std(axis=0) + 1e-12)
    means = [w @ scaled for w in (old, new)]
    sds = [np.sqrt(w @ (scaled - m) ** 2) + 1e-12 for w, m in zip((old, new), means, strict=True)]
    return float(max(np.abs(means[1] - means[0]).max(), np.abs(np.log(sds[1] / sds[0])).max()))


@compiled_lightly
def _log_likelihoods(likelihood: Any, z: Float[Array, "n size"]) -> Float[Array, " n"]:
    return jax.lax.map(likelihood, z, batch_size=BATCH)


@compiled_lightly
def _member_log_likelihoods(
    likelihood: SurrogateLikelihood, z: Float[Array, "n size"]
) -> Float[Array, "n M"]:
    kernel = likelihood.kernel
    constant = jnp.sum(jnp.where(likelihood.targets, likelihood.log_jacobian, 0.0))

    def one(point: Float[Array, " size"]) -> Float[Array, " M"]:
        theta = kernel.scaling.standardise_z(point)
        log_q = kernel.member_log_probs(likelihood.y, likelihood.features, theta)
        return jnp.sum(jnp.where(likelihood.targets, log_q, 0.0), axis=1) + constant

    return jax.lax.map(one, z, batch_size=BATCH)
