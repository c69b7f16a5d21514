r"""One table of Markov transitions, each a function (key, states, log-density, tuning) -> new states.

All chains move in one step. Tuning is common to them: a mean and a Cholesky factor that describe the
target, and a step size.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float, Key

from tsnl.sampling.metropolis import accept

DEGREES, WIDER = 6.0, 1.1  # of the Student law: degrees of freedom, and scale over the fitted one
ALONE = 0.5  # share of independent proposals: with more, chains that start far out take long
JUMPS = 0.1  # share of proposals that go by the difference of two other chains
LogDensity = Callable[[Float[Array, " size"]], Float[Array, ""]]


class Tuning(NamedTuple):
    """What warm-up learns of the target, and the transition's step size."""

    mean: Float[Array | np.ndarray, " size"]
    factor: Float[Array | np.ndarray, "size size"]
    step_size: Float[Array | np.ndarray, ""]


class State(NamedTuple):
    """Where the chains are, and how they came there.

    Attributes:
        z, log_density: the positions and the log-densities there.
        acceptance: how likely the last step was accepted.
        divergent: whether its trajectory diverged.
    """

    z: Float[Array | np.ndarray, "chain size"]
    log_density: Float[Array | np.ndarray, " chain"]
    acceptance: Float[Array | np.ndarray, " chain"]
    divergent: Bool[Array | np.ndarray, " chain"]


def evaluate(
    log_density: LogDensity, z: Float[Array | np.ndarray, "chain size"]
) -> Float[Array, " chain"]:
    """At every chain; NaN is impossible, not contagious."""
    values = jax.vmap(log_density)(jnp.asarray(z))
    return jnp.where(jnp.isnan(values), -jnp.inf, values)


def jumps(
    key: Key[Array, ""], z: Float[Array, "chain size"]
) -> tuple[Float[Array, "chain size"], Bool[Array, " chain"]]:
    r"""Proposals \(z + z_a - z_b\), a and b two other chains, and which chains are to take them.

    The difference of two chains in two modes leads from one mode to the other (ter Braak, 2006). Only
    one half of the chains may jump in a step, by differences of the other half: then a step of all
    chains at once is one of the first half given the second, followed by one of the second by itself.
    """
    num_chains = len(z)
    half = num_chains // 2
    if half < 2:
        return z, jnp.zeros(num_chains, bool)
    keys = jax.random.split(key, 4)
    group = jnp.arange(num_chains) % 2
    a = jax.random.randint(keys[0], (num_chains,), 0, half)
    b = (a + jax.random.randint(keys[1], (num_chains,), 1, half)) % half
    other = 1 - group
    whose = jax.random.bernoulli(keys[2]).astype(group.dtype)
    chosen = (group == whose) & jax.random.bernoulli(keys[3], 2 * JUMPS, (num_chains,))
    return z + z[2 * a + other] - z[2 * b + other], chosen


def random_walk(key: Key[Array, ""], states: State, log_density: LogDensity, tuning: Tuning) -> State:
    r"""Random-walk Metropolis: z' = z + \epsilon L e, e ~ N(0, I); now and then a jump."""
    key_move, key_accept, key_jump = jax.random.split(key, 3)
    now = jnp.asarray(states.z)
    noise = jax.random.normal(key_move, states.z.shape)
    there, jumped = jumps(key_jump, now)
    z = jnp.where(jumped[:, None], there, now + tuning.step_size * (noise @ tuning.factor.T))
    return _accept(key_accept, states, log_density, z, jnp.asarray(0.0))


def mixed(key: Key[Array, ""], states: State, log_density: LogDensity, tuning: Tuning) -> State:
    r"""Independent proposals from a Student law around the fitted Gaussian, random-walk ones, and jumps.

    Where the target is nearly normal, as with a long series, many independent proposals are accepted
    even in ten dimensions; the random walk, at step sizes from a tenth of the usual one upwards, finds
    the mass while the fit is poor. Each chain takes one or the other at random, or a jump.
    """
    keys = jax.random.split(key, 6)
    num_chains, size = states.z.shape
    noise = jax.random.normal(keys[0], states.z.shape) @ tuning.factor.T
    stretch = jnp.sqrt(jax.random.gamma(keys[1], DEGREES / 2, (num_chains, 1)) * (2 / DEGREES))
    step = tuning.step_size * 10 ** -jax.random.uniform(keys[2], (num_chains, 1))
    there, jumped = jumps(keys[5], jnp.asarray(states.z))
    alone = jax.random.bernoulli(keys[3], ALONE, (num_chains,)) & ~jumped
    z = jnp.where(jumped[:, None], there, states.z + step * noise)
    z = jnp.where(alone[:, None], tuning.mean + WIDER * noise / stretch, z)

    def log_student(z: Array) -> Array:
        white = solve_triangular(tuning.factor, (z - tuning.mean).T, lower=True) / WIDER
        return -0.5 * (DEGREES + size) * jnp.log1p(jnp.sum(white**2, axis=0) / DEGREES)

    forth_and_back = jnp.where(alone, log_student(jnp.asarray(states.z)) - log_student(z), 0.0)
    return _accept(keys[4], states, log_density, z, forth_and_back)


def _accept(
    key: Key[Array, ""],
    states: State,
    log_density: LogDensity,
    z: Float[Array, "chain size"],
    forth_and_back: Float[Array, "*chain"],
) -> State:
    r"""Move to z or stay, given \(\log q(z \mid z') - \log q(z' \mid z)\)."""
    value = evaluate(log_density, z)
    log_ratio = value - states.log_density + forth_and_back
    here = jnp.asarray(states.z), jnp.asarray(states.log_density)
    (z, value), _, probability = accept(key, log_ratio, (z, value), here)
    return State(z, value, probability, jnp.zeros(len(z), bool))


def elliptical_slice(
    key: Key[Array, ""], states: State, log_density: LogDensity, tuning: Tuning
) -> State:
    r"""Elliptical slice sampling against N(m, S), the Gaussian that warm-up fitted.

    The target is N(m, S) times p(z) / N(z | m, S): what the Gaussian misses, the likelihood makes good.
    """
    import blackjax  # here and below: slow to import

    def log_ratio(z: Array) -> Array:
        white = solve_triangular(tuning.factor, z - tuning.mean, lower=True)
        return evaluate(log_density, z[None])[0] + 0.5 * jnp.sum(white**2)

    covariance = tuning.factor @ tuning.factor.T
    sampler = blackjax.elliptical_slice(log_ratio, mean=tuning.mean, cov=covariance)

    def step(key: Key[Array, ""], z: Array) -> Array:
        return sampler.step(key, sampler.init(z))[0].position

    z = jax.vmap(step)(jax.random.split(key, len(states.z)), jnp.asarray(states.z))
    return State(z, evaluate(log_density, z), jnp.ones(len(z)), jnp.zeros(len(z), bool))


def nuts(key: Key[Array, ""], states: State, log_density: LogDensity, tuning: Tuning) -> State:
    """The no-U-turn sampler with a dense mass matrix."""
    import blackjax

    covariance = tuning.factor @ tuning.factor.T
    sampler = blackjax.nuts(
        lambda z: evaluate(log_density, z[None])[0],
        tuning.step_size,
        inverse_mass_matrix=covariance,
        max_num_doublings=7,
    )

    def step(key: Key[Array, ""], z: Array) -> tuple[Array, Array, Array, Array]:
        new, info = sampler.step(key, sampler.init(z))
        return new.position, new.logdensity, info.acceptance_rate, info.is_divergent

    return State(*jax.vmap(step)(jax.random.split(key, len(states.z)), jnp.asarray(states.z)))


class Transition(NamedTuple):
    """A Markov transition and how it is tuned.

    Attributes:
        step: one step of all chains.
        acceptance: the acceptance rate that warm-up steers the step size to, None where it has none.
        step_size: the first step size, for a target of unit covariance in `size` dimensions.
        num_refits: how often mean and covariance are fitted again to draws that are not good enough yet.
    """

    step: Callable[[Any, State, LogDensity, Tuning], State]
    acceptance: float | None
    step_size: Callable[[int], float]
    num_refits: int = 0


TRANSITIONS = {
    "random_walk": Transition(random_walk, 0.3, lambda size: 2.38 / size**0.5),
    "mixed": Transition(mixed, None, lambda size: 2.38 / size**0.5, num_refits=3),
    "elliptical_slice": Transition(elliptical_slice, None, lambda size: 1.0),
    "nuts": Transition(nuts, 0.8, lambda size: 0.8),
}
