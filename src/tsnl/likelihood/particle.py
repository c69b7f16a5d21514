"""The bootstrap particle filter: an unbiased estimate of the likelihood."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PyTree

from tsnl.models.arrays import real, real_values
from tsnl.models.base import Filterable, State, StateSpaceModel, Theta, observation_shape
from tsnl.problem.series import as_rows
from tsnl.sampling import resampling


class History(NamedTuple):
    """The particles of one step, or of every step with a leading axis T.

    Attributes:
        particles: x_t, after the move.
        weights: theirs, normalised.
        ancestors: the place that each had among the particles of t - 1.
    """

    particles: PyTree
    weights: Float[Array, "*T num_particles"]
    ancestors: Int[Array, "*T num_particles"]


class ParticleFiltered(NamedTuple):
    r"""What a particle filter gives.

    Attributes:
        log_likelihood: \(\log \hat p(y_{1:T} \mid \theta)\), whose exponential is unbiased; -inf after
            a collapse (no particle can explain an observation), never NaN.
        means: filtered means E[x_t | y_{1:t}], leading axis T.
        ess: effective sample size of the weighted particles after each step.
        particles: x_T, leading axis num_particles.
        weights: theirs, normalised.
        cost: calls of the dynamics, T x num_particles.
        history: all particles, where they were asked for.
    """

    log_likelihood: Float[Array, ""]
    means: PyTree
    ess: Float[Array, " T"]
    particles: PyTree
    weights: Float[Array, " num_particles"]
    cost: int
    history: History | None = None


def require_filterable(model: StateSpaceModel) -> Filterable:
    """The model, known to have an observation density.

    Raises:
        TypeError: it has none.
    """
    if isinstance(model, Filterable):
        return model
    raise TypeError(
        f"{type(model).__name__} has no log_observation(y, state, theta, t, u), so no particle filter "
        f"can weigh its states. Add that method, or use a method that only simulates."
    )


def particle_filter(
    key: Key[Array, ""],
    model: StateSpaceModel,
    theta: Theta,
    series: Any,
    num_particles: int,
    *,
    inputs: Any = None,
    resample_below: float = 0.5,
) -> ParticleFiltered:
    """Filter an observed series at one theta.

    Args:
        key: a JAX random key.
        model: a model with `log_observation`.
        theta: values that replace the model's own.
        series: (T,) or (T, d_y); a row of NaN is skipped as missing.
        num_particles: how many particles.
        inputs: known inputs, (T,) or (T, d_u).
        resample_below: resample when the effective sample size is under this share of the particles.
    """
    filterable = require_filterable(model)
    if num_particles < 1:
        raise ValueError(f"num_particles is {num_particles}, expected at least 1.")
    rows, known = whole_rows(model, series, inputs), None if inputs is None else real(inputs)
    below = real(resample_below)
    return _filter(key, filterable, real_values(theta), rows, num_particles, known, below)


def whole_rows(
    model: StateSpaceModel, series: Any, inputs: Any = None, *, empty: bool = False
) -> Float[Array, "T ..."]:
    """A series in the model's own shape, each row observed or missing as a whole.

    Raises:
        ValueError: a row is missing in part.
    """
    shape = observation_shape(model, inputs)
    rows = as_rows(series, num_columns=shape[0] if shape else 1, empty=empty)
    gaps = np.isnan(rows)
    partly = gaps.any(axis=1) & ~gaps.all(axis=1)
    if partly.any():
        raise ValueError(
            f"Row {int(np.argmax(partly))} of the series is missing only in part: the particle filter "
            f"takes whole rows, observed or all NaN. Make the whole row NaN, or fill it in."
        )
    return jnp.asarray(rows.reshape(-1, *shape), dtype=float)


def bootstrap(
    key: Key[Array, ""],
    model: Filterable,
    theta: Theta,
    rows: Float[Array, "T ..."],
    num_particles: int,
    inputs: Any = None,
    resample_below: float | Float[Array, ""] = 0.5,
    keep_history: bool = False,
) -> ParticleFiltered:
    """The filter itself, pure: for use inside `jit` and `vmap`, on rows in the model's own shape."""
    theta = model.complete(theta)
    uniform = jnp.full(num_particles, 1 / num_particles)

    def step(carry: tuple[State, Array], now: Any) -> tuple[tuple[State, Array], Any]:
        t, y, u = now
        moved, increment = advance(key, model, theta, *carry, t, y, u, resample_below)
        particles, weights, _ = moved
        out = (
            increment,
            _mean(particles, weights),
            resampling.ess(weights),
            moved if keep_history else None,
        )
        return (particles, weights), out

    keys = particle_keys(jax.random.fold_in(key, 0), num_particles)
    initial = jax.vmap(lambda k: model.sample_initial(k, theta))(keys)
    times = jnp.arange(1, rows.shape[0] + 1)
    (particles, weights), (increments, means, sizes, history) = jax.lax.scan(
        step, (initial, uniform), (times, rows, inputs)
    )
    cost = rows.shape[0] * num_particles
    return ParticleFiltered(jnp.sum(increments), means, sizes, particles, weights, cost, history)


_filter = eqx.filter_jit(bootstrap)


def advance(
    key: Key[Array, ""],
    model: Filterable,
    theta: Theta,
    particles: State,
    weights: Float[Array, " n"],
    t: Any,
    y: Float[Array, "..."],
    u: Any,
    resample_below: float | Float[Array, ""] = 0.5,
) -> tuple[History, Float[Array, ""]]:
    r"""One step of the filter: resample where needed, move, weigh by row t; and its \(\log \hat p\).

    Args:
        key: of the whole filter; step t draws with `fold_in(key, t)`.
        model: a model with `log_observation`.
        theta: every parameter's value.
        particles: at time t - 1.
        weights: theirs.
        t: the time.
        y: its row; NaN is skipped as missing.
        u: its inputs.
        resample_below: resample when the effective sample size is under this share of the particles.
    """
    n = weights.shape[0]
    uniform, own = jnp.full(n, 1 / n), jnp.arange(n, dtype=jnp.int32)
    key_resample, key_move = jax.random.split(jax.random.fold_in(key, t))
    particles, weights, ancestors = jax.lax.cond(
        resampling.ess(weights) < resample_below * n,
        lambda: _resample(particles, uniform, resampling.systematic(key_resample, weights)),
        lambda: (particles, weights, own),
    )
    particles = jax.vmap(lambda k, x: model.sample_transition(k, x, theta, t, u))(
        particle_keys(key_move, n), particles
    )
    density = jax.vmap(lambda x: model.log_observation(y, x, theta, t, u))(particles)
    weights, increment = _reweigh(weights, jnp.where(jnp.any(jnp.isnan(y)), 0.0, density))
    return History(particles, weights, ancestors), increment


def particle_keys(key: Key[Array, ""], n: int) -> Key[Array, " n"]:
    """A key for each of n particles, by counting instead of hashing.

    Threefry is a keyed hash, so keys that differ in one word give independent streams: counting up one
    word of a key that was itself hashed costs nothing, where `jax.random.split` would double the random
    numbers that a step of the filter must make.
    """
    data = jax.random.key_data(key)
    counted = data[-1] ^ jnp.arange(n, dtype=data.dtype)
    words = [*(jnp.broadcast_to(word, (n,)) for word in data[:-1]), counted]
    return jax.random.wrap_key_data(jnp.stack(words, axis=-1), impl=jax.random.key_impl(key))


def _reweigh(
    weights: Float[Array, " n"], log_density: Float[Array, " n"]
) -> tuple[Float[Array, " n"], Float[Array, ""]]:
    r"""Normalised weights times a density, and \(\log \sum_i w_i p_i\).

    A NaN density belongs to a failed particle, which has no weight. Where no particle has any, the
    increment is -inf and the weights start anew.
    """
    log_density = jnp.where(jnp.isnan(log_density) | (weights == 0), -jnp.inf, log_density)
    top = jnp.max(log_density)
    alive = top > -jnp.inf
    joint = weights * jnp.exp(log_density - jnp.where(alive, top, 0.0))
    total = jnp.sum(joint)
    new = jnp.where(alive, joint / jnp.where(alive, total, 1.0), 1 / weights.size)
    return new, jnp.where(alive, top + jnp.log(total), -jnp.inf)


def _resample(particles: State, uniform: Array, ancestors: Array) -> tuple[State, Array, Array]:
    return jax.tree.map(lambda x: x[ancestors], particles), uniform, ancestors


def _mean(particles: State, weights: Float[Array, " n"]) -> State:
    """The weighted mean; particles without weight may be NaN."""

    def mean(x: Array) -> Array:
        w = weights.reshape(-1, *(1 for _ in x.shape[1:]))
        return jnp.sum(jnp.where(w > 0, w * x, 0.0), axis=0)

    return jax.tree.map(mean, particles)
