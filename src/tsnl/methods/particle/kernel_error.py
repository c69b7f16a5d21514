r"""How far a kernel's evidence is off, by a few evaluations of the right likelihood.

With \(q(y \mid \theta)\) the kernel's likelihood and draws of the kernel's posterior,

.. math::
    \frac{p(y)}{q(y)} = E_{q(\theta \mid y)} \frac{p(y \mid \theta)}{q(y \mid \theta)},

and a few such ratios say by how many nats the kernel's log-evidence is off. Their mean is taken by the
mean m and variance v of their logarithms, log E = m + v / 2: a filter's noise is normal in the logarithm
(Bérard, Del Moral and Doucet, 2014), and so is the ratio of two normal posteriors of equal width. The
plain mean of a few ratios falls short, for it rests on the largest.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.likelihood.target import target_of
from tsnl.methods.particle.budget import USUAL
from tsnl.methods.particle.weigh import exact_values
from tsnl.posterior import Posterior
from tsnl.problem import Problem
from tsnl.problem.draws import thinned
from tsnl.sampling.defensive import values
from tsnl.sampling.pseudo_marginal import POINTS, estimates

MATTERS = 0.1  # nats
MAX_SE = 1.0  # nats, beyond which nothing is said


@dataclass(frozen=True)
class KernelError:
    """By how many nats a kernel's log-evidence is too high.

    Attributes:
        nats: the kernel's log-evidence less the right one; NaN where the ratios spread too much to tell.
        se: its standard error.
        num_points: draws at which the right likelihood was evaluated.
        num_particles: of the filter that ran at each; 0 where the likelihood is exact.
    """

    nats: float
    se: float
    num_points: int
    num_particles: int

    @property
    def matters(self) -> bool:
        """Whether it is certain, and changes a Bayes factor by a tenth at least."""
        return abs(self.nats) > max(2 * self.se, MATTERS)

    def __str__(self) -> str:
        by = f"by {self.num_points} filter runs" if self.num_particles else "by the exact likelihood"
        if np.isnan(self.nats):
            return f"how far it is off cannot be told {by}"
        side = "high" if self.nats > 0 else "low"
        return f"{by} it is {abs(self.nats):.2f} ± {self.se:.2f} nats too {side}"


def kernel_error(
    key: Key[Array, ""],
    problem: Problem,
    posterior: Posterior,
    z: Float[np.ndarray, "chain draw size"],
    num_points: int,
) -> KernelError:
    """At draws of the kernel's posterior, by a filter run each where the model is not linear.

    Args:
        key: a JAX random key.
        problem: whose model has densities.
        posterior: by the kernel.
        z: draws of it.
        num_points: how many of them, at most 64.
    """
    some = thinned(z, min(num_points, POINTS))
    target = target_of(problem, USUAL)
    if target.num_particles:
        right = estimates(key, target, jnp.asarray(some)).astype(np.float64)
    else:
        right = exact_values(target, some)
    gaps = right - values(posterior.log_density, some)
    found = _log_mean(gaps[np.isfinite(gaps)], len(gaps))
    return KernelError(-found[0], found[1], len(some), target.num_particles)


def _log_mean(gaps: Float[np.ndarray, " n"], count: int) -> tuple[float, float]:
    """The log of the mean ratio and its standard error; the rest of so many ratios are zero."""
    n = len(gaps)
    if n < 2:
        return float("nan"), float("nan")
    variance = float(gaps.var(ddof=1))
    se = float(np.sqrt(variance / n + variance**2 / (2 * (n - 1)) + (1 - n / count) / n))
    if se > MAX_SE:
        return float("nan"), float("nan")
    return float(gaps.mean() + variance / 2 + np.log(n / count)), se
