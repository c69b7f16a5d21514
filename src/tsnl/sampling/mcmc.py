"""Markov chains side by side: warm-up, draws, checks, and more steps where they fall short."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.sampling.diagnostics import effective_sizes, split_r_hat
from tsnl.sampling.kernels import KERNELS, State, Tuning

SHRINK = 5.0  # pseudo-draws behind the first covariance in each estimate of it


@dataclass(frozen=True)
class MCMC:
    """How to sample.

    Attributes:
        kernel: "random_walk", "elliptical_slice" or "nuts".
        num_chains: chains side by side.
        num_warmup: steps of warm-up for each chain.
        num_draws: kept draws of each chain, at first.
        max_r_hat: sample on while any coordinate's split R-hat is above this.
        min_effective: sample on while any coordinate's effective sample size is below this.
        max_extensions: how often to go on for as many draws again, before giving up.
    """

    kernel: Literal["random_walk", "elliptical_slice", "nuts"] = "random_walk"
    num_chains: int = 8
    num_warmup: int = 400
    num_draws: int = 500
    max_r_hat: float = 1.02
    min_effective: int = 400
    max_extensions: int = 6

    def __post_init__(self) -> None:
        if self.kernel not in KERNELS:
            raise ValueError(f"kernel is {self.kernel!r}, expected one of {sorted(KERNELS)}.")
        for name in ("num_chains", "num_warmup", "num_draws"):
            if getattr(self, name) < (2 if name == "num_chains" else 10):
                raise ValueError(f"{name} is {getattr(self, name)}: too few to sample and check.")


@dataclass(frozen=True)
class Draws:
    """Draws of z and how they came about.

    Attributes:
        z: (chain, draw, size).
        log_density: (chain, draw), unnormalised.
        r_hat: largest split R-hat of all coordinates.
        effective: smallest effective sample size of all coordinates.
        acceptance: mean acceptance probability.
        num_restarted: chains found stuck in a far tail after warm-up and started again.
        healthy: whether R-hat and effective size reached what was asked for.
    """

    z: Float[np.ndarray, "chain draw size"]
    log_density: Float[np.ndarray, "chain draw"]
    r_hat: float
    effective: float
    acceptance: float
    num_restarted: int
    healthy: bool


def sample(
    key: Key[Array, ""],
    log_density: Callable[[Float[Array, " size"]], Float[Array, ""]],
    start: Float[Array, "chain size"],
    spread: Float[Array, "size size"],
    options: MCMC,
) -> Draws:
    """Draw from exp(log_density).

    Args:
        key: a JAX random key.
        log_density: unnormalised; an `eqx.Module` with arrays in it is compiled once for all its values.
        start: a first position for each chain.
        spread: a covariance of the size of the target, where the first steps come from.
        options: which kernel, how many chains, and when they are good enough.
    """
    size = start.shape[1]
    kernel = KERNELS[options.kernel]
    factor = jnp.linalg.cholesky(spread + 1e-10 * jnp.eye(size))
    tuning = Tuning(start.mean(0), factor, jnp.asarray(kernel.step_size(size)))
    keys = jax.random.split(key, 4)
    states = _start(log_density, start)
    states, tuning = _warm_up(keys[0], log_density, states, tuning, options.kernel, options.num_warmup)
    states, num_restarted = _rescue(keys[1], states)
    kept: list[State] = []
    for extension in range(options.max_extensions + 1):
        key_run = jax.random.fold_in(keys[2], extension)
        states, path = _run(key_run, log_density, states, tuning, options.kernel, options.num_draws)
        kept.append(jax.tree.map(np.asarray, path))
        z = np.concatenate([part.z for part in kept], axis=1)
        r_hat, effective = split_r_hat(z).max(), effective_sizes(z).min()
        healthy = bool(r_hat <= options.max_r_hat and effective >= options.min_effective)
        if healthy:
            break
    return Draws(
        z=z,
        log_density=np.concatenate([part.log_density for part in kept], axis=1),
        r_hat=float(r_hat),
        effective=float(effective),
        acceptance=float(np.mean([part.acceptance.mean() for part in kept])),
        num_restarted=num_restarted,
        healthy=healthy,
    )


@eqx.filter_jit
def _start(log_density: Any, z: Array) -> State:
    values = jax.vmap(log_density)(z)
    return State(z, jnp.where(jnp.isnan(values), -jnp.inf, values), jnp.ones(len(z)))


@eqx.filter_jit
def _warm_up(
    key: Key[Array, ""], log_density: Any, states: State, tuning: Tuning, name: str, num_steps: int
) -> tuple[State, Tuning]:
    """Steer the step size at every step and learn mean and covariance from all chains, in blocks."""
    kernel = KERNELS[name]
    num_blocks = 8
    first_covariance = tuning.factor @ tuning.factor.T

    def step(carry: tuple[State, Tuning, Array], t: Array) -> tuple[Any, Array]:
        states, tuning, count = carry
        keys = jax.random.split(jax.random.fold_in(key, t), len(states.z))
        states = jax.vmap(lambda k, s: kernel.step(k, s, log_density, tuning))(keys, states)
        if kernel.acceptance is not None:
            error = jnp.mean(states.acceptance) - kernel.acceptance
            change = jnp.exp(jnp.clip(error * 3.0 / jnp.sqrt(count + 1.0), -1.0, 1.0))
            tuning = tuning._replace(step_size=tuning.step_size * change)
        return (states, tuning, count + 1.0), states.z

    def block(carry: tuple[State, Tuning], b: Array) -> tuple[Any, None]:
        states, tuning = carry
        times = b * (num_steps // num_blocks) + jnp.arange(num_steps // num_blocks)
        (states, tuning, _), path = jax.lax.scan(step, (states, tuning, jnp.zeros(())), times)
        pool = path[path.shape[0] // 3 :].reshape(-1, path.shape[-1])
        weight = len(pool) / (len(pool) + SHRINK)
        covariance = weight * jnp.atleast_2d(jnp.cov(pool.T))
        # what the first guess was, made smaller, keeps a chain that has not moved alive
        covariance += (1 - weight) * 0.1 * first_covariance
        factor = jnp.linalg.cholesky(covariance)
        good = jnp.all(jnp.isfinite(factor))
        factor = jnp.where(good, factor, tuning.factor)
        restart = jnp.asarray(kernel.step_size(pool.shape[1]))
        return (states, Tuning(pool.mean(0), factor, restart)), None

    (states, tuning), _ = jax.lax.scan(block, (states, tuning), jnp.arange(num_blocks - 1))
    times = (num_blocks - 1) * (num_steps // num_blocks) + jnp.arange(num_steps // num_blocks)
    (states, tuning, _), _ = jax.lax.scan(step, (states, tuning, jnp.zeros(())), times)
    return states, tuning


@eqx.filter_jit
def _run(
    key: Key[Array, ""], log_density: Any, states: State, tuning: Tuning, name: str, num_draws: int
) -> tuple[State, State]:
    """`num_draws` steps of all chains; the path has axes (chain, draw)."""
    step_fn = KERNELS[name].step

    def step(states: State, t: Array) -> tuple[State, State]:
        keys = jax.random.split(jax.random.fold_in(key, t), len(states.z))
        states = jax.vmap(lambda k, s: step_fn(k, s, log_density, tuning))(keys, states)
        return states, states

    states, path = jax.lax.scan(step, states, jnp.arange(num_draws))
    return states, jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), path)


def _rescue(key: Key[Array, ""], states: State) -> tuple[State, int]:
    """Move chains that are stuck in a far tail onto good ones.

    A chain of a unimodal posterior in `size` dimensions lies within a few nats of the others; one that
    is 15 + 3 size nats below the best after warm-up has not found the mass.
    """
    values = np.asarray(states.log_density)
    stuck = ~(values > values.max() - 15.0 - 3.0 * states.z.shape[1])
    if not stuck.any():
        return states, 0
    if stuck.all():
        raise FloatingPointError(
            "No Markov chain found a point of finite posterior density. The prior and the series may "
            "contradict each other: compare prior simulations with the series."
        )
    good = jnp.asarray(np.flatnonzero(~stuck))
    donors = good[jax.random.randint(key, (len(stuck),), 0, len(good))]
    index = jnp.where(jnp.asarray(stuck), donors, jnp.arange(len(stuck)))
    return jax.tree.map(lambda x: x[index], states), int(stuck.sum())
