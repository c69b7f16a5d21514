r"""Long particle MCMC for the posterior of several parameters.

A pilot of random-walk chains, started at the best of draws from the prior and from around the truth,
finds the posterior; a Student proposal is fitted to it and refitted; the final chains mix independent
proposals (four in five) with random-walk ones until every coordinate has the effective sample size asked
for. All of it is the exact pseudo-marginal algorithm: proposals change how fast it mixes, not what it
converges to.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.experiments.problems import Setting
from tsnl.likelihood.estimate import Estimate
from tsnl.sampling.diagnostics import effective_sizes, split_r_hat

NUM_CHAINS, DEGREES = 8, 6.0
PILOT = ((60, 0.0), (60, 0.0), (80, 0.0), (100, 0.5), (150, 0.8))  # steps, share of independent ones
STEPS, INDEPENDENT, FIRST_PARTICLES = 150, 0.8, 50
MAX_R_HAT, MAX_BLOCKS = 1.02, 40


def draw_reference(
    setting: Setting, seed: int, num_particles: int, effective: float, max_blocks: int = MAX_BLOCKS
) -> tuple[Float[np.ndarray, "chain draw size"], dict[str, Any]]:
    """Draws of z for the observed series of a seed, and what was seen of them.

    Args:
        setting: the problem.
        seed: of the observed series.
        num_particles: of each filter.
        effective: sample size that every coordinate reaches.
        max_blocks: blocks of steps after which it ends all the same.
    """
    series, prior = setting.observe(seed).series, setting.prior
    rough, target = (
        Estimate.of(setting.model, prior, series, n) for n in (FIRST_PARTICLES, num_particles)
    )
    keys = iter(jax.random.split(jax.random.fold_in(jax.random.key(2024), seed), 1000))
    start = jax.vmap(prior.unconstrain)(prior.sample(next(keys), 400))
    truth = prior.unconstrain(setting.truth)
    start = jnp.concatenate([start, truth + 0.2 * jax.random.normal(next(keys), (100, prior.size))])
    values = _scores(rough, next(keys), start)
    best = jnp.argsort(-values)[:NUM_CHAINS]
    state = start[best], values[best]
    mean, factor = state[0].mean(0), 0.1 * jnp.eye(prior.size)
    for num_steps, independent in PILOT:
        state, path, _ = advance(next(keys), target, state, mean, factor, num_steps, independent)
        mean, factor = fit(np.asarray(path), 1.2)
    kept: list[np.ndarray] = []
    for _ in range(max_blocks):
        state, path, rate = advance(next(keys), target, state, mean, factor, STEPS, INDEPENDENT)
        kept.append(np.asarray(path))
        draws = np.concatenate(kept, axis=1)
        sizes, r_hat = effective_sizes(draws), split_r_hat(draws)
        if sizes.min() >= effective and r_hat.max() < MAX_R_HAT:
            break
    steps = sum(steps for steps, _ in PILOT) + draws.shape[1]
    cost = len(series) * (FIRST_PARTICLES * len(start) + steps * NUM_CHAINS * num_particles)
    return draws, {
        "ess": sizes.round().tolist(),
        "r_hat": r_hat.round(4).tolist(),
        "acceptance": round(float(rate), 3),
        "steps": draws.shape[1],
        "cost": cost,
    }


@eqx.filter_jit
def _scores(target: Estimate, key: Key[Array, ""], z: Float[Array, "n size"]) -> Float[Array, " n"]:
    return jax.vmap(target)(jax.random.split(key, len(z)), z)


@eqx.filter_jit
def advance(
    key: Key[Array, ""],
    target: Estimate,
    state: tuple[Float[Array, "chain size"], Float[Array, " chain"]],
    mean: Float[Array, " size"],
    factor: Float[Array, "size size"],
    num_steps: int,
    independent: float,
) -> tuple[Any, Float[Array, "chain step size"], Float[Array, ""]]:
    """So many steps of pseudo-marginal Metropolis for all chains side by side."""
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

    state, (path, accepted) = jax.lax.scan(step, state, jnp.arange(num_steps))
    return state, jnp.swapaxes(path, 0, 1), accepted.mean()


def fit(
    path: Float[np.ndarray, "chain step size"], inflate: float
) -> tuple[Float[Array, " size"], Float[Array, "size size"]]:
    """Mean and inflated scale of the last half of each chain."""
    pool = path[:, path.shape[1] // 2 :].reshape(-1, path.shape[2])
    covariance = np.atleast_2d(np.cov(pool.T)) * inflate + 1e-6 * np.eye(pool.shape[1])
    return jnp.asarray(pool.mean(0)), jnp.linalg.cholesky(jnp.asarray(covariance))
