r"""Draws of the states \(x_1, \dots, x_T\) behind an observed series, at one theta."""

from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from tsnl.likelihood.kalman import dynamics, filter_moments
from tsnl.likelihood.particle import History
from tsnl.models.base import State, Theta
from tsnl.models.linear_gaussian import LinearGaussian

Kind = Literal["filter", "smooth"]


def particle_states(key: Key[Array, ""], history: History, kind: Kind) -> State:
    r"""One draw of the states from the particles of one filter, leading axis T.

    "smooth" draws a particle of the last step by its weight and follows its ancestors back: a draw of
    \(p(x_{1:T} \mid y_{1:T})\), with an error of the order T / num_particles, more where a surprising
    row leaves few effective particles. The lines of one filter meet in few ancestors, so take one draw
    from each filter and run a filter for each draw.
    "filter" draws a particle at each step by itself: \(x_t \sim p(x_t \mid y_{1:t})\), no path.
    """
    length = history.weights.shape[0]
    if kind == "filter":
        keys = jax.random.split(key, length)
        places = jax.vmap(lambda k, w: jax.random.categorical(k, jnp.log(w)))(keys, history.weights)
    else:
        last = jax.random.categorical(key, jnp.log(history.weights[-1]))
        _, places = jax.lax.scan(
            lambda place, ancestors: (ancestors[place], place),
            last.astype(history.ancestors.dtype),
            history.ancestors,
            reverse=True,
        )
    return jax.tree.map(lambda x: x[jnp.arange(length), places], history.particles)


def kalman_states(
    key: Key[Array, ""],
    model: LinearGaussian,
    theta: Theta,
    rows: Float[Array, "T d_y"],
    kind: Kind,
) -> Float[Array, "T d_x"]:
    r"""One exact draw of the states of a linear-Gaussian model.

    "smooth" filters forward and samples backward (Carter and Kohn, 1994):

    .. math::
        x_T \sim N(m_T, P_T), \quad
        x_t \mid x_{t+1} \sim N\big(m_t + G (x_{t+1} - m^-_{t+1}),
        (I - G A) P_t (I - G A)^T + G Q G^T\big), \quad
        G = P_t A^T (P^-_{t+1})^{-1}.

    "filter" draws \(x_t \sim N(m_t, P_t)\) at each step by itself.
    """
    A, Q = dynamics(model, theta)
    filtered, predicted = jax.tree.map(jnp.asarray, filter_moments(model, theta, rows)[1:])
    keys = jax.random.split(key, rows.shape[0])
    if kind == "filter":
        return jax.vmap(gaussian)(keys, *filtered)

    def step(after: Array, now: tuple[Array, ...]) -> tuple[Array, Array]:
        key, mean, cov, mean_after, cov_after = now
        gain = jnp.linalg.solve(cov_after, A @ cov).T
        kept = jnp.eye(model.d_x) - gain @ A
        mean = mean + gain @ (after - mean_after)
        x = gaussian(key, mean, kept @ cov @ kept.T + gain @ Q @ gain.T)
        return x, x

    last = gaussian(keys[-1], filtered.means[-1], filtered.covariances[-1])
    now = (keys[:-1], *(x[:-1] for x in filtered), *(x[1:] for x in predicted))
    _, before = jax.lax.scan(step, last, now, reverse=True)
    return jnp.append(before, last[None], axis=0)


def gaussian(
    key: Key[Array, ""], mean: Float[Array, " d"], covariance: Float[Array, "d d"]
) -> Float[Array, " d"]:
    """A draw of N(mean, covariance), which may be singular, or by rounding a little less than that."""
    values, vectors = jnp.linalg.eigh(covariance)
    root = vectors * jnp.sqrt(jnp.maximum(values, 0.0))
    return mean + root @ jax.random.normal(key, mean.shape)
