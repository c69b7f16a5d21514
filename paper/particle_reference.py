r"""Long particle MCMC for the posterior of several parameters.

A pilot of random-walk chains, started at the best of draws from the prior and from around the truth,
finds the posterior; a Student proposal is fitted to it and refitted; the final chains mix independent
proposals (four in five) with random-walk ones until every coordinate has the effective sample size asked
for. All of it is the exact pseudo-marginal algorithm: proposals change how fast it mixes, not what it
converges to.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from paper.problems import Setting
from tsnl.likelihood.estimate import Estimate
from tsnl.sampling import diagnostics

NUM_CHAINS, DEGREES = 8, 6.0
FIRST_PARTICLES = 50  # of the filters that rate the starting points
BLOCK = 50  # steps of one compiled call
MAX_R_HAT = 1.02
State = tuple[Float[Array, "chain size"], Float[Array, " chain"]]  # z and its log-density


@dataclass(frozen=True)
class Effort:
    """How long to run.

    Attributes:
        num_particles: of each filter.
        ess: effective sample size that every coordinate reaches.
        num_starts: draws from the prior to start from, and a quarter as many from around the truth.
        pilot: steps and share of independent proposals of each fit of the proposal.
        last: the same of the final chains, again and again until they are long enough.
        max_repeats: how often at most.
    """

    num_particles: int
    ess: float
    num_starts: int = 400
    pilot: tuple[tuple[int, float], ...] = ((50, 0.0), (50, 0.0), (100, 0.0), (100, 0.5), (150, 0.8))
    last: tuple[int, float] = (150, 0.8)
    max_repeats: int = 40


def draw_reference(
    setting: Setting, seed: int, effort: Effort
) -> tuple[Float[np.ndarray, "chain draw size"], dict[str, Any]]:
    """Draws of z for the observed series of a seed, and what was seen of them."""
    problem, prior = setting.observe(seed), setting.prior
    rough, target = (
        Estimate.of(problem.laws, prior, problem.series, n)
        for n in (FIRST_PARTICLES, effort.num_particles)
    )
    keys = iter(jax.random.split(jax.random.fold_in(jax.random.key(2024), seed), 1000))
    start = jnp.asarray(prior.sample_unconstrained(next(keys), effort.num_starts))
    near = jax.random.normal(next(keys), (effort.num_starts // 4, prior.size))
    start = jnp.concatenate([start, prior.unconstrain(setting.truth) + 0.2 * near])
    values = _scores(rough, next(keys), start)
    best = jnp.argsort(-values)[:NUM_CHAINS]
    state = start[best], values[best]
    proposal = state[0].mean(0), 0.1 * jnp.eye(prior.size)
    for steps in effort.pilot:
        state, path, _ = walk(keys, target, state, proposal, steps)
        proposal = fit(path, 1.2)
    draws = np.zeros((NUM_CHAINS, 0, prior.size))
    for _ in range(effort.max_repeats):
        state, path, rate = walk(keys, target, state, proposal, effort.last)
        draws = np.concatenate([draws, path], axis=1)
        ess, r_hat = diagnostics.ess(draws), diagnostics.r_hat(draws)
        if ess.min() >= effort.ess and r_hat.max() < MAX_R_HAT:
            break
    steps_in_all = sum(steps for steps, _ in effort.pilot) + draws.shape[1]
    runs = FIRST_PARTICLES * len(start) + steps_in_all * NUM_CHAINS * effort.num_particles
    return draws, {
        "ess": ess.round().tolist(),
        "r_hat": r_hat.round(4).tolist(),
        "acceptance": round(rate, 3),
        "steps": draws.shape[1],
        "cost": problem.length * runs,
    }


def walk(
    keys: Iterator[Key[Array, ""]],
    target: Estimate,
    state: State,
    proposal: tuple[Float[Array, " size"], Float[Array, "size size"]],
    steps: tuple[int, float],
) -> tuple[State, Float[np.ndarray, "chain step size"], float]:
    """Some steps of all chains, a share of them independent: state, path and acceptance rate."""
    num_steps, independent = steps
    parts, rates = [], []
    for _ in range(num_steps // BLOCK):
        state, path, rate = advance(next(keys), target, state, *proposal, jnp.asarray(independent))
        parts.append(np.asarray(path, dtype=np.float64))
        rates.append(float(rate))
    return state, np.concatenate(parts, axis=1), float(np.mean(rates))


@eqx.filter_jit
def _scores(target: Estimate, key: Key[Array, ""], z: Float[Array, "n size"]) -> Float[Array, " n"]:
    return jax.vmap(target)(jax.random.split(key, len(z)), z)


@eqx.filter_jit
def advance(
    key: Key[Array, ""],
    target: Estimate,
    state: State,
    mean: Float[Array, " size"],
    factor: Float[Array, "size size"],
    independent: Float[Array, ""],
) -> tuple[State, Float[Array, "chain step size"], Float[Array, ""]]:
    """A block of steps of pseudo-marginal Metropolis for all chains side by side."""
    size = len(mean)

    def log_student(z: Array) -> Array:
        white = jax.scipy.linalg.solve_triangular(factor, z - mean, lower=True)
        return -0.5 * (DEGREES + size) * jnp.log1p(jnp.sum(white**2) / DEGREES)

    def step(carry: Any, t: Array) -> Any:
        z, value = carry
        k_kind, k_move, k_scale, k_filter, k_accept = jax.random.split(jax.random.fold_in(key, t), 5)
        noise = jax.random.normal(k_move, z.shape) @ factor.T
        chi2 = jax.random.gamma(k_scale, DEGREES / 2, (len(z), 1)) * 2
        alone = mean + noise * jnp.sqrt(DEGREES / chi2)
        near = z + noise * (2.38 / size**0.5)
        is_alone = jax.random.uniform(k_kind) < independent
        proposed = jnp.where(is_alone, alone, near)
        new = jax.vmap(target)(jax.random.split(k_filter, len(z)), proposed)
        q = jax.vmap(log_student)
        ratio = new - value + jnp.where(is_alone, q(z) - q(proposed), 0.0)
        accept = jnp.log(jax.random.uniform(k_accept, (len(z),))) < ratio
        z, value = jnp.where(accept[:, None], proposed, z), jnp.where(accept, new, value)
        return (z, value), (z, accept)

    state, (path, accepted) = jax.lax.scan(step, state, jnp.arange(BLOCK))
    return state, jnp.swapaxes(path, 0, 1), accepted.mean()


def fit(
    path: Float[np.ndarray, "chain step size"], inflate: float
) -> tuple[Float[Array, " size"], Float[Array, "size size"]]:
    """Mean and inflated scale of the last half of each chain."""
    pool = path[:, path.shape[1] // 2 :].reshape(-1, path.shape[2])
    covariance = np.atleast_2d(np.cov(pool.T)) * inflate + 1e-6 * np.eye(pool.shape[1])
    return jnp.asarray(pool.mean(0), dtype=float), jnp.linalg.cholesky(
        jnp.asarray(covariance, dtype=float)
    )
