"""Resampling of weighted particles."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key


def systematic(
    key: Key[Array, ""], weights: Float[Array, " n"], count: int | None = None
) -> Int[Array, " count"]:
    r"""Ancestors by systematic resampling: one uniform, `count` equally spaced places.

    Particle i is taken \(\lfloor m w_i \rfloor\) or \(\lceil m w_i \rceil\) times, m the count, and
    m w_i times on average.

    Args:
        key: a JAX random key.
        weights: non-negative, with a positive finite sum; they need not add up to one.
        count: how many to take, as many as there are particles where None.
    """
    return _ancestors(jax.random.uniform(key), weights, count or weights.shape[0])


def resample(
    weights: Float[np.ndarray, " n"], count: int, offset: float = 0.5
) -> Int[np.ndarray, " count"]:
    """The same on the host, compiled and in 64 bit: `count` places, the first at `offset` / count."""
    with jax.enable_x64(True):
        return np.asarray(_compiled(np.float64(offset), np.asarray(weights, np.float64), count))


def ess(weights: Float[Array | np.ndarray, " n"]) -> Any:
    r"""The effective sample size \(1 / \sum w^2\) of normalised weights."""
    return 1 / (weights**2).sum()


def _ancestors(offset: Any, weights: Any, count: int) -> Int[Array, " count"]:
    r"""The particle at each place \((u + j) / m\) of the cumulative weights, u the offset.

    It is found by counting, for each particle, the places below its cumulative weight, which is a
    scatter and a cumulative sum instead of m binary searches.
    """
    n = weights.shape[0]
    cumulative = jax.lax.associative_scan(jnp.add, weights)
    places = count * (cumulative / cumulative[-1]) - offset
    below = jnp.clip(jnp.ceil(places), 0, count).astype(jnp.int32)  # places before particle i's end
    ends = jnp.zeros(count + 1, jnp.int32).at[below].add(1)  # particles that end before each place
    ancestors = jax.lax.associative_scan(jnp.add, ends[:-1])
    return jnp.minimum(ancestors, n - 1)


_compiled = partial(jax.jit, static_argnums=2)(_ancestors)
