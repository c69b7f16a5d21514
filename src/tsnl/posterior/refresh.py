"""What a stream needs beside its particles: fresh ones, their density, the mark of its kernel."""

import json
import warnings

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.kernel.fitted import Kernel
from tsnl.posterior.base import LogDensity, Posterior
from tsnl.sampling.mcmc import MCMC, sample
from tsnl.sampling.smc import Cloud
from tsnl.sampling.spread import spread
from tsnl.store import codec
from tsnl.store.files import seal_of_arrays

COLLAPSED = 10  # effective particles, for each parameter and one more, below which moving cannot help
SHARE = 0.05  # of the particles, however few there are
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)  # of the bands that are remembered
CAPACITY = 256  # rows that a likelihood is compiled for grow by as many


def collapsed(cloud: Cloud) -> bool:
    """Whether too few particles are left to see by them how wide the posterior is."""
    return cloud.ess < min(COLLAPSED * (1 + cloud.z.shape[1]), SHARE * len(cloud.z))


def padded(
    start: Posterior, series: Float[np.ndarray, "T d_y"], inputs: Float[np.ndarray, "T d_u"]
) -> LogDensity:
    """The posterior's log-density, its rows filled up to one of few lengths: compiled seldom."""
    more = ((0, -len(series) % CAPACITY), (0, 0))
    known = (np.pad(inputs, more),) if inputs.shape[1] else None
    return start.given((np.pad(series, more, constant_values=np.nan),), known).log_density


def redraw(key: Key[Array, ""], target: LogDensity, before: Cloud, ess: float) -> Cloud:
    """Particles by MCMC, for a cloud that one row has left hardly any of.

    Args:
        key: a JAX random key.
        target: of all rows so far.
        before: the cloud before the row, all over the place that the chains start from.
        ess: how many particles were left.
    """
    options = MCMC(num_draws=1000, min_ess=len(before.z), max_extensions=20)
    found = sample(key, target, before.z, before.covariance().astype(before.z.dtype), options)
    flat = found.z.reshape(-1, found.z.shape[-1])
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    warnings.warn(
        f"A new row left {ess:.1f} effective particles of {len(before.z)}: all were drawn anew by MCMC"
        f"{found.health_note}. One row that moves the posterior so far may be an outlier: check it.",
        stacklevel=5,
    )
    return Cloud.even(spread(rng, flat, len(before.z)))


def mark_of(kernel: Kernel) -> str:
    """What tells a kernel from all others: a hash of its weights and of what it is made of."""
    leaves = jax.tree.leaves(eqx.filter(kernel, eqx.is_array))
    arrays = {str(i): np.asarray(leaf) for i, leaf in enumerate(leaves)}
    return seal_of_arrays({**arrays, "spec": np.array(json.dumps(codec.encode(kernel.spec)))})


def coordinates_of(posterior: Posterior, cloud: Cloud) -> Float[np.ndarray, "particle size"]:
    """The particles as free entries of theta."""
    prior = posterior.prior
    return np.asarray(prior.coordinates(prior.constrain_all(cloud.z)), dtype=np.float64)


def quantiles(
    points: Float[np.ndarray, "particle size"], weights: Float[np.ndarray, " particle"]
) -> Float[np.ndarray, "level size"]:
    """Of weighted particles, at `LEVELS`."""
    return np.quantile(points, LEVELS, axis=0, weights=weights, method="inverted_cdf")
