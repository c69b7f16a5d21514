"""Data in, fitted ensemble out: no windowing and no splitting of its own."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, Key

from tsnl.kernel.heads.base import Density
from tsnl.kernel.memory import Windows, pick, pick_evenly

RETRIES, SMALLER = 3, 0.3
FIRST, SECOND = 0.9, 0.99  # decay of Adam's moments


@dataclass(frozen=True)
class Training:
    """How a kernel is fitted.

    Attributes:
        num_members: size of the ensemble, trained side by side; densities are averaged.
        num_epochs: how often each window is seen, which with the limits below gives the number of steps
            of Adam; the step size decays to nothing over them (cosine).
        min_steps, max_steps: limits of the number of steps.
        batch_size: windows in a step.
        learning_rate: the largest step size.
        averaging: decay of the moving average of the weights, which is what is kept.
        clip: largest norm of a gradient.
        penalty: strength of the prior over the weights, where the family has one.
        held_out: share of the series that each member is held to, other series for each.
        check_every: steps between two looks at the held-out windows.
        patience: looks without improvement before a stop; the best look is kept. As many as there are
            by default: a stop before the step size has decayed costs accuracy (decision 0010).
    """

    num_members: int = 5
    num_epochs: float = 20.0
    min_steps: int = 300
    max_steps: int = 2000
    batch_size: int = 256
    learning_rate: float = 1e-2
    averaging: float = 0.98
    clip: float = 5.0
    penalty: float = 1.0
    held_out: float = 0.1
    check_every: int = 50
    patience: int = 40

    def __post_init__(self) -> None:
        for name in ("num_members", "min_steps", "batch_size", "check_every", "patience"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at least 1.")
        if not 0 < self.min_steps <= self.max_steps:
            raise ValueError(
                f"min_steps is {self.min_steps} and max_steps {self.max_steps}: expected 0 < min <= max."
            )
        if not 0 <= self.held_out < 1:
            raise ValueError(f"held_out is {self.held_out}, expected a share between 0 and 1.")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate is {self.learning_rate}, expected a positive number.")


class Fit(NamedTuple):
    """What happened while fitting.

    Attributes:
        held_out_loss: mean -log q of the held-out windows at the best look, over the members.
        history: (look, member), NaN after a member's stop.
        num_steps: steps taken.
        num_retries: how often training diverged and was started again with smaller steps.
    """

    held_out_loss: float
    history: np.ndarray
    num_steps: int
    num_retries: int


class _Progress(NamedTuple):
    """The state of one member's training, its weights as one vector."""

    weights: Float[Array, " weights"]
    mean: Float[Array, " weights"]
    square: Float[Array, " weights"]
    average: Float[Array, " weights"]
    best: Float[Array, " weights"]
    best_loss: Float[Array, ""]
    num_worse: Int[Array, ""]


def train(
    key: Key[Array, ""],
    members: Density,
    windows: Windows,
    theta: Float[Array, "N size"],
    use: Bool[np.ndarray, "M N T"],
    held: Bool[np.ndarray, "M N T"],
    options: Training,
    effort: float = 1.0,
) -> tuple[Density, Fit]:
    """Fit an ensemble by maximum (penalised) likelihood.

    Args:
        key: a JAX random key.
        members: the densities to start from, stacked along a first axis.
        windows: standardised series.
        theta: standardised parameters of each series.
        use: the windows that each member learns from.
        held: the windows that each member is held to.
        options: how.
        effort: share of the steps to take, where a rough fit will do.

    Raises:
        FloatingPointError: training diverged at every step size tried.
    """
    rate = options.learning_rate
    looks = num_looks(int(use.sum(axis=(1, 2)).max()), effort, options)
    for retry in range(RETRIES + 1):
        fitted, history, losses = _train(
            key, members, windows, theta, use, held, jnp.asarray([rate, looks], dtype=float), options
        )
        if np.isfinite(losses).all():
            seen = np.asarray(history)
            taken = int(np.isfinite(seen).any(axis=1).sum()) * options.check_every
            return fitted, Fit(float(losses.mean()), seen, taken, retry)
        rate *= SMALLER
    raise FloatingPointError(
        f"Training diverged with learning rates from {options.learning_rate} to {rate:.1e}. Look at "
        f"the simulated series for extreme values; transform='asinh' tames wide ranges."
    )


@eqx.filter_jit
def _train(
    key: Key[Array, ""],
    members: Density,
    windows: Windows,
    theta: Float[Array, "N size"],
    use: Bool[Array | np.ndarray, "M N T"],
    held: Bool[Array | np.ndarray, "M N T"],
    course: Float[Array, " 2"],
    options: Training,
) -> tuple[Density, Float[Array, "looks M"], Float[Array, " M"]]:
    rate, looks = course  # values, not shapes: more data or smaller steps do not compile anew
    max_looks = -(-options.max_steps // options.check_every)
    total = looks * options.check_every
    tree, rest = eqx.partition(members, eqx.is_inexact_array)
    fixed, static = eqx.partition(rest, eqx.is_array)  # masks and permutations have a member axis too
    _, restore = ravel_pytree(jax.tree.map(lambda x: x[0], tree))
    num_members = use.shape[0]
    weights = jnp.concatenate([x.reshape(num_members, -1) for x in jax.tree.leaves(tree)], axis=1)
    length = windows.y.shape[1]

    def loss(w: Array, still: Any, index: Int[Array, " n"], strength: Array) -> Array:
        density = eqx.combine(restore(w), still, static)
        y, context = windows.take(index // length, index % length)
        log_q = density.log_probs(y, context, theta[index // length])
        return -jnp.mean(log_q) + strength * density.penalty()

    def step(state: _Progress, still: Any, now: tuple[Array, Array], counts: Array) -> _Progress:
        t, key = now
        index = _draw(key, counts, options.batch_size)
        gradient = jax.grad(loss)(state.weights, still, index, options.penalty / counts[-1])
        return _adam(state, gradient, t, rate * _schedule(t / total), options)

    def look(
        state: _Progress, still: Any, n: Array, key: Array, counts: Array, check: Array
    ) -> tuple[Any, Array]:
        times = n * options.check_every + jnp.arange(options.check_every)
        keys = jax.vmap(lambda t: jax.random.fold_in(key, t))(times)
        new = jax.lax.scan(lambda s, x: (step(s, still, x, counts), None), state, (times, keys))[0]
        value = loss(new.average, still, check, jnp.zeros(()))
        better = value < state.best_loss
        new = new._replace(
            best=jnp.where(better, new.average, state.best),
            best_loss=jnp.where(better | jnp.isnan(value), value, state.best_loss),
            num_worse=jnp.where(better, 0, state.num_worse + 1),
        )
        done = state.num_worse >= options.patience
        new = jax.tree.map(lambda a, b: jnp.where(done, b, a), new, state)
        return new, jnp.where(done, jnp.nan, value)

    counts = jnp.cumsum(use.reshape(num_members, -1), axis=1, dtype=jnp.int32)
    held_counts = jnp.cumsum(held.reshape(num_members, -1), axis=1, dtype=jnp.int32)
    check = jax.vmap(lambda c: pick_evenly(c, 4 * options.batch_size))(held_counts)
    keys = jax.random.split(key, num_members)
    zero = jnp.zeros_like(weights)
    state = _Progress(
        weights, zero, zero, weights, weights,
        jnp.full(num_members, jnp.inf), jnp.zeros(num_members, jnp.int32),
    )  # fmt: skip

    def more(carry: tuple[_Progress, Array, Array]) -> Array:
        state, n, _ = carry
        return (n < looks) & jnp.any(state.num_worse < options.patience)

    def advance(carry: tuple[_Progress, Array, Array]) -> Any:
        state, n, history = carry
        state, values = jax.vmap(look, in_axes=(0, 0, None, 0, 0, 0))(
            state, fixed, n, keys, counts, check
        )
        return state, n + 1, history.at[n].set(values)

    history = jnp.full((max_looks, num_members), jnp.nan)
    state, _, history = jax.lax.while_loop(more, advance, (state, jnp.zeros((), jnp.int32), history))
    return eqx.combine(jax.vmap(restore)(state.best), fixed, static), history, state.best_loss


def _adam(
    state: _Progress, gradient: Float[Array, " weights"], t: Array, size: Array, options: Training
) -> _Progress:
    """One step of Adam on a clipped gradient, and of the moving average of the weights."""
    norm = jnp.sqrt(jnp.sum(gradient**2))
    gradient = gradient * jnp.minimum(1.0, options.clip / norm)
    mean = FIRST * state.mean + (1 - FIRST) * gradient
    square = SECOND * state.square + (1 - SECOND) * gradient**2
    scale = jnp.sqrt(square / (1 - SECOND ** (t + 1))) + 1e-8
    weights = state.weights - size * mean / (1 - FIRST ** (t + 1)) / scale
    keep = jnp.minimum(options.averaging, (1 + t) / (10 + t))
    average = keep * state.average + (1 - keep) * weights
    return state._replace(weights=weights, mean=mean, square=square, average=average)


def num_looks(num_windows: int, effort: float, options: Training) -> int:
    """How often to look: the number of steps over those between two looks."""
    steps = options.num_epochs * num_windows / options.batch_size
    steps = effort * min(max(steps, options.min_steps), options.max_steps)
    return math.ceil(steps / options.check_every)


def _schedule(share: Array) -> Array:
    """A short warm-up, then a cosine down to a hundredth."""
    return jnp.minimum(share / 0.05 + 0.1, 1.0) * (0.01 + 0.99 * 0.5 * (1 + jnp.cos(jnp.pi * share)))


def _draw(key: Key[Array, ""], counts: Int[Array, " windows"], n: int) -> Int[Array, " n"]:
    """Windows at random, one from each of n equal parts of those counted."""
    places = (jnp.arange(n) + jax.random.uniform(key, (n,))) / n
    return pick(counts, places)
