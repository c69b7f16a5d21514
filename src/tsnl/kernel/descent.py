"""Gradient descent: examples in, one fitted member of an ensemble out."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, Key

from tsnl.kernel.examples import Examples, Units
from tsnl.kernel.member import Member
from tsnl.kernel.objective import Objective
from tsnl.kernel.training import Training, rows_in_step


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
        units: to pick from.
        num_rows: that it learns from.
        use, held: the rows.
        check: units to look at.
    """

    key: Key[Array, ""]
    fixed: Any
    units: Units
    num_rows: Int[Array, ""]
    use: Bool[Array, "N T"]
    held: Bool[Array, "N T"]
    check: Int[Array, " n"]


@eqx.filter_jit
def descend(
    key: Key[Array, ""],
    member: Member,
    examples: Examples,
    use: Bool[Array | np.ndarray, "N T"],
    held: Bool[Array | np.ndarray, "N T"],
    course: Float[Array, " 3"],
    options: Training,
) -> tuple[Member, Float[Array, " looks"], Float[Array, ""]]:
    """Fit one member.

    Args:
        key: a JAX random key.
        member: to start from.
        examples: standardised series.
        use: the rows that it learns from.
        held: the rows that it is held to.
        course: step size, looks to take, and what a row counts.
        options: how.

    Returns:
        The member at its best look, the held-out loss at each, and the best.
    """
    tree, rest = eqx.partition(member, eqx.is_inexact_array)
    fixed, static = eqx.partition(rest, eqx.is_array)  # masks and permutations
    weights, restore = ravel_pytree(tree)
    loss = Objective(examples, restore, static)
    use, held = jnp.asarray(use), jnp.asarray(held)
    check = Units.of(loss.units(held)).evenly(4 * loss.size(options.batch_size))
    data = _Data(key, fixed, Units.of(loss.units(use)), jnp.sum(use), use, held, check)
    moments = _optimiser(options).init(weights)
    none = jnp.full((), jnp.inf, weights.dtype), jnp.zeros((), jnp.int32)
    state = _Progress(weights, moments, weights, weights, *none)

    def more(carry: tuple[_Progress, Array, Array]) -> Array:
        state, n, _ = carry
        return (n < course[1]) & (state.num_worse < _patience(options))

    def advance(carry: tuple[_Progress, Array, Array]) -> Any:
        state, n, history = carry
        state, value = _look(loss, state, data, n, course, options)
        return state, n + 1, history.at[n].set(value)

    history = jnp.full(-(-options.max_steps // options.check_every), jnp.nan)
    state, _, history = jax.lax.while_loop(more, advance, (state, jnp.zeros((), jnp.int32), history))
    return eqx.combine(restore(state.best), fixed, static), history, state.best_loss


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
    return new, value


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
    units, strength = data.units.at(places), options.penalty / (worth * data.num_rows)
    windows = loss.windows(jax.random.fold_in(key, 1), n)
    gradient = loss.gradient(state.weights, data.fixed, units, data.use, strength, windows)
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
