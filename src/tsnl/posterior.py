"""The posterior that a prior and a likelihood, learned or exact, define for one series."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.density.kernel import Kernel
from tsnl.prior import Prior
from tsnl.sampling.mcmc import MCMC, Draws, sample
from tsnl.sites import Theta


class Posterior(eqx.Module):
    r"""\(p(\theta \mid y) \propto p(\theta) \, p(y_{1:T} \mid \theta)\), unnormalised.

    Attributes:
        prior: the prior.
        likelihood: log-likelihood of an unconstrained z.
    """

    prior: Prior = eqx.field(static=True)
    likelihood: Callable[[Float[Array, " size"]], Float[Array, ""]]

    @property
    def kernel(self) -> Kernel | None:
        """The learned kernel; None where the likelihood is exact."""
        return getattr(self.likelihood, "kernel", None)

    def __call__(self, z: Float[Array, " size"]) -> Float[Array, ""]:
        """The log-density of z, unnormalised."""
        return self.prior.log_prob_unconstrained(z) + self.likelihood(z)

    def log_prob(self, theta: Theta) -> Float[Array, ""]:
        """The unnormalised log-density of theta in its own, constrained, coordinates."""
        return self.prior.log_prob(theta) + self.likelihood(self.prior.unconstrain(theta))

    def sample(
        self, *, seed: int, start: Any = None, options: MCMC | None = None
    ) -> dict[str, np.ndarray]:
        """Draw theta by MCMC, with no simulation: name to array (chain, draw, *event).

        Args:
            seed: one integer.
            start: unconstrained points near the mass, as many as there are; prior draws where None.
            options: how to sample.
        """
        draws = sample_posterior(jax.random.key(seed), self, start, options or MCMC())
        return constrained(self.prior, draws.z)


def sample_posterior(key: Key[Array, ""], posterior: Posterior, points: Any, options: MCMC) -> Draws:
    """Chains that start at the best of some points (prior draws where None)."""
    key_points, key_sample = jax.random.split(key)
    prior_draws = jax.vmap(posterior.prior.unconstrain)(posterior.prior.sample(key_points, 256))
    points = prior_draws if points is None else jnp.asarray(points)
    values = np.asarray(_values(posterior, _padded(points, 256)))[: len(points)]
    order = np.argsort(-np.where(np.isnan(values), -np.inf, values))
    best = np.resize(order[: options.num_chains], options.num_chains)
    spread = jnp.atleast_2d(jnp.cov(prior_draws.T)) * 0.05
    return sample(key_sample, posterior, points[jnp.asarray(best)], spread, options)


@eqx.filter_jit
def _values(posterior: Posterior, z: Float[Array, "n size"]) -> Float[Array, " n"]:
    return jax.lax.map(posterior, z, batch_size=16)


def _padded(points: Float[Array, "n size"], multiple: int) -> Float[Array, "m size"]:
    """Filled up to a multiple by repeating the last point: few sizes to compile for."""
    missing = -len(points) % multiple
    return jnp.concatenate([points, jnp.repeat(points[-1:], missing, axis=0)])


def constrained(prior: Prior, z: Float[np.ndarray, "chain draw size"]) -> dict[str, np.ndarray]:
    """Draws of z as draws of theta."""
    theta = jax.vmap(jax.vmap(prior.constrain))(jnp.asarray(z))
    return {name: np.asarray(value) for name, value in theta.items()}
