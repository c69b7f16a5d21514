r"""One table of Markov kernels, each a function (key, position, log-density, tuning) -> new state.

Tuning is common to all: a mean and a Cholesky factor that describe the target, and a step size.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float, Key

LogDensity = Callable[[Float[Array, " size"]], Float[Array, ""]]


class Tuning(NamedTuple):
    """What warm-up learns of the target, and the kernel's step size."""

    mean: Float[Array, " size"]
    factor: Float[Array, "size size"]
    step_size: Float[Array, ""]


class State(NamedTuple):
    """A chain: where it is, the log-density there, and the acceptance probability of its last step."""

    z: Float[Array, " size"]
    log_density: Float[Array, ""]
    acceptance: Float[Array, ""]


def random_walk(key: Key[Array, ""], state: State, log_density: LogDensity, tuning: Tuning) -> State:
    r"""Random-walk Metropolis: z' = z + \epsilon L e, e ~ N(0, I)."""
    import blackjax  # here and below: slow to import

    def move(key: Key[Array, ""], z: Array) -> Array:
        return tuning.step_size * (tuning.factor @ jax.random.normal(key, z.shape))

    kernel = blackjax.additive_step_random_walk(_finite(log_density), move)
    value: Any = state.log_density
    old = blackjax.mcmc.random_walk.RWState(state.z, value)
    new: Any
    info: Any
    new, info = kernel.step(key, old)
    return State(new.position, new.logdensity, info.acceptance_rate)


def elliptical_slice(
    key: Key[Array, ""], state: State, log_density: LogDensity, tuning: Tuning
) -> State:
    r"""Elliptical slice sampling against N(m, S), the Gaussian that warm-up fitted.

    The target is N(m, S) times p(z) / N(z | m, S): what the Gaussian misses, the likelihood makes good.
    """
    import blackjax

    def log_ratio(z: Array) -> Array:
        white = solve_triangular(tuning.factor, z - tuning.mean, lower=True)
        return _finite(log_density)(z) + 0.5 * jnp.sum(white**2)

    covariance = tuning.factor @ tuning.factor.T
    kernel = blackjax.elliptical_slice(log_ratio, mean=tuning.mean, cov=covariance)
    new, _ = kernel.step(key, kernel.init(state.z))
    return State(new.position, log_density(new.position), jnp.ones(()))


def nuts(key: Key[Array, ""], state: State, log_density: LogDensity, tuning: Tuning) -> State:
    """The no-U-turn sampler with a dense mass matrix."""
    import blackjax

    covariance = tuning.factor @ tuning.factor.T
    kernel = blackjax.nuts(
        _finite(log_density), tuning.step_size, inverse_mass_matrix=covariance, max_num_doublings=7
    )
    new, info = kernel.step(key, kernel.init(state.z))
    return State(new.position, new.logdensity, info.acceptance_rate)


class Kernel(NamedTuple):
    """A Markov kernel and how it is tuned.

    Attributes:
        step: the kernel.
        acceptance: the acceptance rate that warm-up steers the step size to, None where it has none.
        step_size: the first step size, for a target of unit covariance in `size` dimensions.
    """

    step: Callable[[Any, State, LogDensity, Tuning], State]
    acceptance: float | None
    step_size: Callable[[int], float]


KERNELS = {
    "random_walk": Kernel(random_walk, 0.3, lambda size: 2.38 / size**0.5),
    "elliptical_slice": Kernel(elliptical_slice, None, lambda size: 1.0),
    "nuts": Kernel(nuts, 0.8, lambda size: 0.8),
}


def _finite(log_density: LogDensity) -> LogDensity:
    """NaN is impossible, not contagious."""

    def safe(z: Array) -> Array:
        value = log_density(z)
        return jnp.where(jnp.isnan(value), -jnp.inf, value)

    return safe
