r"""From the prior to the posterior by degrees, and the evidence on the way.

Particles of the prior are weighed by \(p(y \mid z)^{\beta' - \beta}\), resampled and moved by Metropolis
steps on \(p(z) \, p(y \mid z)^{\beta'}\), in steps of \(\beta\) from 0 to 1 that leave half of them
effective (Del Moral, Doucet and Jasra, 2006). The mean weights multiply to an unbiased estimate of
\(\int p(z) \, p(y \mid z) \, dz\).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.special import logsumexp

from tsnl.problem.prior import Prior
from tsnl.sampling import resampling
from tsnl.sampling.defensive import values
from tsnl.sampling.smc import Cloud, rejuvenate

KEPT = 0.5  # share of the particles that a step leaves effective
MOST_STEPS = 200


class Tempered(eqx.Module):
    r"""\(\log p(z) + \beta \log p(y \mid z)\)."""

    prior: Prior = eqx.field(static=True)
    likelihood: Callable[[Float[Array, " size"]], Float[Array, ""]]
    beta: Float[Array, ""]

    def __call__(self, z: Float[Array, " size"]) -> Float[Array, ""]:
        """Of z."""
        return self.prior.log_prob_unconstrained(z) + self.beta * self.likelihood(z)


class Arrived(NamedTuple):
    """What comes of one run: the log of the evidence, and draws of the posterior of equal weight."""

    log_evidence: float
    z: Float[np.ndarray, "particle size"]


def temper(key: Key[Array, ""], prior: Prior, likelihood: Any, num_particles: int) -> Arrived:
    """One run from the prior to the posterior.

    Raises:
        FloatingPointError: no draw of the prior has a positive likelihood, or it takes too many steps.
    """
    cloud = Cloud.even(prior.sample_unconstrained(jax.random.fold_in(key, 0), num_particles))
    beta, log_evidence = 0.0, 0.0
    for step in range(1, MOST_STEPS + 1):
        log_p = values(likelihood, cloud.z)
        log_p = np.where(np.isnan(log_p), -np.inf, log_p)
        if not np.isfinite(log_p).any():
            raise FloatingPointError(
                f"The likelihood is zero at all {num_particles} particles: the prior and the series may "
                f"contradict each other. Compare prior simulations with the series."
            )
        new = next_beta(beta, log_p)
        log_weights = (new - beta) * log_p
        log_evidence += float(logsumexp(log_weights) - np.log(num_particles))
        cloud = Cloud(cloud.z, log_weights - logsumexp(log_weights))
        target = Tempered(prior, likelihood, jnp.asarray(new, jnp.result_type(float)))
        cloud, beta = rejuvenate(jax.random.fold_in(key, step), target, cloud), new
        if beta == 1.0:
            return Arrived(log_evidence, cloud.z)
    raise FloatingPointError(
        f"After {MOST_STEPS} steps from prior to posterior the power is {beta:.2g}: the likelihood is "
        f"too peaked for so wide a prior."
    )


def next_beta(beta: float, log_p: Float[np.ndarray, " n"]) -> float:
    """The largest power, up to 1, that leaves half of what is possible effective; by bisection."""
    possible = np.isfinite(log_p).sum()

    def effective(new: float) -> float:
        log_w = (new - beta) * log_p
        return float(resampling.ess(np.exp(log_w - logsumexp(log_w))))

    if effective(1.0) >= KEPT * possible:
        return 1.0
    low, high = beta, 1.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if effective(middle) >= KEPT * possible else (low, middle)
    return high if low == beta else low
