"""Examples in, fitted ensemble out: no windowing and no splitting of its own."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, Key

from tsnl.kernel.examples import Examples, pick, pick_evenly
from tsnl.kernel.member import Member
from tsnl.kernel.objective import Objective
from tsnl.kernel.training import Training, num_looks, rows_in_step
from tsnl.runtime.reader import option

RETRIES, SMALLER = 3, 0.3


class Fit(NamedTuple):
    """What happened while fitting.

    Attributes:
        held_out_loss: mean -log q of the held-out rows at the best look, over the members.
        history: (look, member), NaN after a member's stop.
        num_steps: steps taken.
        num_retries: how often training diverged and was started again with smaller steps.
        num_left_out: members that diverged at every step size, and were left out.
    """

    held_out_loss: float
    history: np.ndarray
    num_steps: int
    num_retries: int
    num_left_out: int = 0


def train(
    key: Key[Array, ""],
    members: Member,
    examples: Examples,
    use: Bool[np.ndarray, "M N T"],
    held: Bool[np.ndarray, "M N T"],
    options: Training,
    effort: float = 1.0,
    worth: float = 1.0,
) -> tuple[Member, Fit]:
    """Fit an ensemble by maximum (penalised) likelihood.

    Args:
        key: a JAX random key.
        members: to start from, stacked along a first axis.
        examples: standardised series. With features they are learned from row by row; without, series
            by series, the gradient going through the memory.
        use: the rows that each member learns from.
        held: the rows that each member is held to.
        options: how.
        effort: share of the steps to take, where a rough fit will do.
        worth: what a row counts in the number of steps and against the prior of the weights; less than
            one where series are views of one path.

    Raises:
        FloatingPointError: training diverged at every step size tried.
    """
    rate = options.learning_rate
    looks = num_looks(int(worth * use.sum(axis=(1, 2)).max()), effort, options)
    for retry in range(RETRIES + 1):
        course = jnp.asarray([rate, looks, worth], dtype=float)
        fitted, history, losses = _train(key, members, examples, use, held, course, options)
        good = np.isfinite(losses)
        if good.all() or (retry == RETRIES and good.any()):
            seen = np.asarray(history)
            taken = int(np.isfinite(seen).any(axis=1).sum()) * options.check_every
            fit = Fit(float(losses[good].mean()), seen, taken, retry, int((~good).sum()))
            return _without_failed(fitted, good), fit
        rate *= SMALLER
    raise FloatingPointError(
        f"Training diverged with learning rates from {options.learning_rate} to {rate:.1e}. Look at "
        f"the simulated series for extreme values; {option('transform', 'asinh')} tames wide ranges."
    )


def _without_failed(members: Member, good: Bool[np.ndarray, " M"]) -> Member:
    """Members that diverged replaced by others in turn: shapes stay, the others count for more."""
    if good.all():
        return members
    index = np.where(good, np.arange(len(good)), np.resize(np.flatnonzero(good), len(good)))
    return jax.tree.map(lambda x: x[index] if eqx.is_array(x) else x, members)


class _Progress(NamedTuple):
    """The state of one member's training, its weights as one vector."""

    weights: Float[Array, " weights"]
    moments: optax.OptState
    average: Float[Array, " weights"]
    best: Float[Array, " weights"]
    best_loss: Float[Array, ""]
    num_worse: Int[Array, ""]


class _Data(NamedTuple):
    """What one member learns from and is held to.

    Attributes:
        key: of its batches.
        fixed: its arrays that are not trained.
        counts: running count of the units in use.
        use, held: the rows.
        check: units to look at.
    """

    key: Key[Array, ""]
    fixed: Any
    counts: Int[Array, " units"]
    use: Bool[Array, "N T"]
    held: Bool[Array, "N T"]
    check: Int[Array, " n"]


@eqx.filter_jit
def _train(
    key: Key[Array, ""],
    members: Member,
    examples: Examples,
    use: Bool[Array | np.ndarray, "M N T"],
    held: Bool[Array | np.ndarray, "M N T"],
    course: Float[Array, " 3"],
    options: Training,
) -> tuple[Member, Float[Array, "looks M"], Float[Array, " M"]]:
    tree, rest = eqx.partition(members, eqx.is_inexact_array)
    fixed, static = eqx.partition(rest, eqx.is_array)  # masks and permutations have a member axis too
    _, restore = ravel_pytree(jax.tree.map(lambda x: x[0], tree))
    num_members = use.shape[0]
    weights = jnp.concatenate([x.reshape(num_members, -1) for x in jax.tree.leaves(tree)], axis=1)
    loss = Objective(examples, restore, static)
    use, held = jnp.asarray(use), jnp.asarray(held)
    counts, held_counts = (jnp.cumsum(loss.units(rows), axis=1, dtype=jnp.int32) for rows in (use, held))
    num_checked = loss.size(4 * options.batch_size)
    check = jax.vmap(lambda c: pick_evenly(c, num_checked))(held_counts)
    data = _Data(jax.random.split(key, num_members), fixed, counts, use, held, check)
    none = jnp.full(num_members, jnp.inf), jnp.zeros(num_members, jnp.int32)
    moments = jax.vmap(_optimiser(options).init)(weights)
    state = _Progress(weights, moments, weights, weights, *none)

    patience = _patience(options)

    def more(carry: tuple[_Progress, Array, Array]) -> Array:
        state, n, _ = carry
        return (n < course[1]) & jnp.any(state.num_worse < patience)

    def advance(carry: tuple[_Progress, Array, Array]) -> Any:
        state, n, history = carry
        state, values = jax.vmap(lambda s, d: _look(loss, s, d, n, course, options))(state, data)
        return state, n + 1, history.at[n].set(values)

    history = jnp.full((-(-options.max_steps // options.check_every), num_members), jnp.nan)
    state, _, history = jax.lax.while_loop(more, advance, (state, jnp.zeros((), jnp.int32), history))
    return eqx.combine(jax.vmap(restore)(state.best), fixed, static), history, state.best_loss


def _look(
    loss: Objective,
    state: _Progress,
    data: _Data,
    n: Int[Array, ""],
    course: Float[Array, " 3"],
    options: Training,
) -> tuple[_Progress, Float[Array, ""]]:
    """Some steps, then a look at what is held out."""
    times = n * options.check_every + jnp.arange(options.check_every)
    keys = jax.vmap(lambda t: jax.random.fold_in(data.key, t))(times)

    def step(state: _Progress, now: tuple[Array, Array]) -> tuple[_Progress, None]:
        return _step(loss, state, data, *now, course, options), None

    new = jax.lax.scan(step, state, (times, keys))[0]
    value = loss(new.average, data.fixed, data.check, data.held, 0.0)
    better = value < state.best_loss
    new = new._replace(
        best=jnp.where(better, new.average, state.best),
        best_loss=jnp.where(better, value, state.best_loss),
        num_worse=jnp.where(better, 0, state.num_worse + 1),
    )
    done = state.num_worse >= _patience(options)
    new = jax.tree.map(lambda a, b: jnp.where(done, b, a), new, state)
    return new, jnp.where(done, jnp.nan, value)


def _step(
    loss: Objective,
    state: _Progress,
    data: _Data,
    t: Int[Array, ""],
    key: Key[Array, ""],
    course: Float[Array, " 3"],
    options: Training,
) -> _Progress:
    """One step of Adam, and of the moving average of the weights.

    The step size and its course are values, not shapes: more data or smaller steps do not compile anew.
    """
    rate, looks, worth = course
    n = loss.size(rows_in_step(data.use.size, options))
    places = (jnp.arange(n) + jax.random.uniform(key, (n,))) / n  # one from each of n equal parts
    units, strength = pick(data.counts, places), options.penalty / (worth * jnp.sum(data.use))
    spots = loss.spots(jax.random.fold_in(key, 1), n)
    gradient = jax.grad(loss)(state.weights, data.fixed, units, data.use, strength, spots)
    updates, moments = _optimiser(options).update(gradient, state.moments)
    size = rate * _schedule(t / (looks * options.check_every))
    weights = state.weights - size * updates
    keep = jnp.minimum(options.averaging, (1 + t) / (10 + t))
    average = keep * state.average + (1 - keep) * weights
    return state._replace(weights=weights, moments=moments, average=average)


def _optimiser(options: Training) -> optax.GradientTransformation:
    return optax.chain(optax.clip_by_global_norm(options.clip), optax.scale_by_adam(b2=0.99))


def _patience(options: Training) -> int:
    """Looks without improvement before a stop; as many as there can be where it is not limited."""
    return options.max_steps if options.patience is None else options.patience


def _schedule(share: Array) -> Array:
    """A short warm-up, then a cosine down to a hundredth."""
    return jnp.minimum(share / 0.05 + 0.1, 1.0) * (0.01 + 0.99 * 0.5 * (1 + jnp.cos(jnp.pi * share)))
