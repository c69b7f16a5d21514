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
from tsnl.sampling.kernels import KERNELS, State, Tuning, evaluate
from tsnl.store.registry import register

BLOCK = 50  # steps of one compiled call
FEW = 4  # parameters that a random walk is the best for
SHRINK = 5.0  # pseudo-draws behind the first covariance in each estimate of it
STEERED, FROZEN = np.float32(3.0), np.float32(0.0)  # gains of the step size


@register
@dataclass(frozen=True)
class MCMC:
    """How to sample.

    Attributes:
        kernel: "random_walk", "mixed" (with independent proposals), "elliptical_slice" or "nuts";
            "auto" takes the random walk for up to four parameters, and the mixed one for more.
        num_chains: chains side by side.
        num_warmup: steps of warm-up for each chain, rounded up to whole blocks of 50.
        num_draws: kept draws of each chain, at first.
        max_r_hat: sample on while any coordinate's split R-hat is above this.
        min_effective: sample on while any coordinate's effective sample size is below this.
        max_extensions: how often to go on for as many draws again, before giving up.
    """

    kernel: Literal["auto", "random_walk", "mixed", "elliptical_slice", "nuts"] = "auto"
    num_chains: int = 8
    num_warmup: int = 150
    num_draws: int = 300
    max_r_hat: float = 1.02
    min_effective: int = 400
    max_extensions: int = 6

    def __post_init__(self) -> None:
        if self.kernel not in ("auto", *KERNELS):
            raise ValueError(f"kernel is {self.kernel!r}, expected one of {['auto', *KERNELS]}.")
        for name in ("num_chains", "num_warmup", "num_draws"):
            if getattr(self, name) < (2 if name == "num_chains" else 10):
                raise ValueError(f"{name} is {getattr(self, name)}: too few to sample and check.")

    def kernel_for(self, size: int) -> str:
        """The kernel for so many parameters."""
        if self.kernel != "auto":
            return self.kernel
        return "random_walk" if size <= FEW else "mixed"


@dataclass(frozen=True)
class Draws:
    """Draws of z and how they came about.

    Attributes:
        z: (chain, draw, size).
        log_density: (chain, draw), unnormalised.
        r_hat: largest split R-hat of all coordinates.
        effective: smallest effective sample size of all coordinates.
        acceptance: mean acceptance probability.
        num_divergent: steps of NUTS whose trajectory diverged; none for other kernels.
        num_restarted: chains found stuck in a far tail after warm-up and started again.
        healthy: whether R-hat and effective size reached what was asked for.
    """

    z: Float[np.ndarray, "chain draw size"]
    log_density: Float[np.ndarray, "chain draw"]
    r_hat: float
    effective: float
    acceptance: float
    num_divergent: int
    num_restarted: int
    healthy: bool


def sample(
    key: Key[Array, ""],
    log_density: Callable[[Float[Array, " size"]], Float[Array, ""]],
    points: Float[Array | np.ndarray, "n size"],
    spread: Float[Array | np.ndarray, "size size"],
    options: MCMC,
) -> Draws:
    """Draw from exp(log_density).

    Args:
        key: a JAX random key.
        log_density: unnormalised; an `eqx.Module` with arrays in it is compiled once for all its values.
        points: where to look for the mass; the chains start at the best of them.
        spread: a covariance of the size of the target, where the first steps come from.
        options: which kernel, how many chains, and when they are good enough.
    """
    keys = jax.random.split(key, 3)
    states = _start(log_density, np.asarray(points), options.num_chains)
    kernel = options.kernel_for(states.z.shape[1])
    first = np.asarray(spread)
    states, tuning = _warm_up(keys[0], log_density, states, first, kernel, options.num_warmup)
    states, num_restarted = _rescue(keys[1], states)
    kept: list[Any] = []
    healthy, extension, wanted, num_blocks = False, 0, 0, 0
    while not healthy and extension <= options.max_extensions:
        wanted += options.num_draws
        while len(kept) * BLOCK < wanted:
            key_block = jax.random.fold_in(keys[2], num_blocks)
            states, _, path = _advance(key_block, log_density, states, tuning, FROZEN, kernel)
            kept.append(jax.tree.map(np.asarray, path))
            num_blocks += 1
        z = _joined([part.z for part in kept])[:, :wanted]
        r_hat, effective = split_r_hat(z).max(), effective_sizes(z).min()
        healthy = bool(r_hat <= options.max_r_hat and effective >= options.min_effective)
        extension += 1
        if not healthy and extension <= min(KERNELS[kernel].num_refits, options.max_extensions):
            tuning = _fit(tuning, z[:, wanted // 3 :].reshape(-1, z.shape[2]), first)
            kept, wanted = [], 0  # they were a longer warm-up
    return Draws(
        z=z,
        log_density=_joined([part.log_density for part in kept])[:, :wanted],
        r_hat=float(r_hat),
        effective=float(effective),
        acceptance=float(np.mean([part.acceptance.mean() for part in kept])),
        num_divergent=int(_joined([part.divergent for part in kept])[:, :wanted].sum()),
        num_restarted=num_restarted,
        healthy=healthy,
    )


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """Paths (draw, chain, ...) one after the other, as (chain, draw, ...)."""
    return np.swapaxes(np.concatenate(parts), 0, 1)


_evaluate = eqx.filter_jit(evaluate)


def _start(log_density: Any, points: Float[np.ndarray, "n size"], num_chains: int) -> State:
    """The best of some points, as many at a time as there are chains: the shape that sampling has."""
    padded = np.resize(np.arange(len(points)), -(-len(points) // num_chains) * num_chains)
    values = np.concatenate(
        [np.asarray(_evaluate(log_density, points[part])) for part in padded.reshape(-1, num_chains)]
    )[: len(points)]
    best = np.resize(np.argsort(-values, kind="stable")[:num_chains], num_chains)
    nothing = np.zeros(num_chains, bool)
    return State(points[best], values[best], np.ones_like(values[best]), nothing)


def _warm_up(
    key: Key[Array, ""], log_density: Any, states: State, spread: np.ndarray, kernel: str, num_steps: int
) -> tuple[State, Tuning]:
    """Steer the step size at every step, and learn mean and covariance from all chains after a block."""
    size = spread.shape[0]
    step_size = np.float32(KERNELS[kernel].step_size(size)).astype(states.z.dtype)
    first = tuning = Tuning(states.z.mean(axis=0), _factor(spread, spread), step_size)
    num_blocks = -(-num_steps // BLOCK)
    for block in range(num_blocks):
        key_block = jax.random.fold_in(key, block)
        states, tuning, path = _advance(key_block, log_density, states, tuning, STEERED, kernel)
        if block + 1 < num_blocks:  # the last block settles the step size
            tuning = _fit(first, np.asarray(path.z)[BLOCK // 3 :].reshape(-1, size), spread)
    return states, tuning


def _fit(tuning: Tuning, pool: Float[np.ndarray, "n size"], spread: np.ndarray) -> Tuning:
    """Mean and covariance of a pool of draws, the step size as it was."""
    weight = len(pool) / (len(pool) + SHRINK)
    # what the first guess was, made smaller, keeps a chain that has not moved alive
    covariance = weight * np.atleast_2d(np.cov(pool.T)) + (1 - weight) * 0.1 * spread
    return Tuning(pool.mean(axis=0), _factor(covariance, spread), tuning.step_size)


def _factor(covariance: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """The Cholesky factor, that of another matrix where it has none."""
    ridge = 1e-10 * np.eye(len(covariance))
    try:
        return np.linalg.cholesky(covariance + ridge).astype(otherwise.dtype)
    except np.linalg.LinAlgError:
        return np.linalg.cholesky(otherwise + ridge).astype(otherwise.dtype)


@eqx.filter_jit
def _advance(
    key: Key[Array, ""], log_density: Any, states: State, tuning: Tuning, gain: Any, name: str
) -> tuple[State, Tuning, State]:
    """A block of steps of all chains; the path has axes (draw, chain).

    One program for warm-up and draws: the gain, zero for draws, is how fast the step size is steered.
    """
    kernel = KERNELS[name]

    def step(carry: tuple[State, Tuning], t: Array) -> tuple[Any, State]:
        states, tuning = carry
        states = kernel.step(jax.random.fold_in(key, t), states, log_density, tuning)
        if kernel.acceptance is not None:
            error = jnp.mean(states.acceptance) - kernel.acceptance
            change = jnp.exp(jnp.clip(gain * error / jnp.sqrt(t + 1.0), -1.0, 1.0))
            tuning = tuning._replace(step_size=tuning.step_size * change)
        return (states, tuning), states

    (states, tuning), path = jax.lax.scan(step, (states, tuning), jnp.arange(BLOCK))
    return states, tuning, path


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
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    index = np.where(stuck, rng.choice(np.flatnonzero(~stuck), len(stuck)), np.arange(len(stuck)))
    return jax.tree.map(lambda x: np.asarray(x)[index], states), int(stuck.sum())
