"""Systematic resampling of weighted particles, inside compiled programs and on the host."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key


def systematic(
    key: Key[Array, ""], weights: Float[Array, " n"], count: int | None = None
) -> Int[Array, " count"]:
    r"""Ancestors by systematic resampling: one uniform u, m equally spaced places.

    Particle i is taken \(\lfloor m w_i \rfloor\) or \(\lceil m w_i \rceil\) times and m w_i times on
    average. The ancestor of place \((u + j) / m\) is found by counting, for each particle, the places
    below its cumulative weight, which is a scatter and a cumulative sum instead of m binary searches.

    Args:
        key: a JAX random key.
        weights: non-negative, with a positive finite sum; they need not add up to one.
        count: m, as many as there are particles where None.
    """
    n = weights.shape[0]
    m = n if count is None else count
    cumulative = jax.lax.associative_scan(jnp.add, weights)
    places = m * (cumulative / cumulative[-1]) - jax.random.uniform(key)
    below = jnp.clip(jnp.ceil(places), 0, m).astype(jnp.int32)  # places before the end of particle i
    ends = jnp.zeros(m + 1, jnp.int32).at[below].add(1)  # particles that end before each place
    ancestors = jax.lax.associative_scan(jnp.add, ends[:-1])
    return jnp.minimum(ancestors, n - 1)


def resample(
    weights: Float[np.ndarray, " n"], count: int, offset: float = 0.5
) -> Int[np.ndarray, " count"]:
    """The same on the host for a given uniform, the offset.

    By binary search: the compiled one would be a new program, of 1 to 2 s, for each n and count.
    """
    cumulative = np.cumsum(weights, dtype=np.float64)
    places = (np.arange(count) + offset) / count * cumulative[-1]
    return np.minimum(np.searchsorted(cumulative, places, side="right"), len(weights) - 1)


def ess(weights: Float[Array | np.ndarray, " n"]) -> Any:
    r"""The effective sample size \(1 / \sum w^2\) of normalised weights."""
    return 1 / (weights**2).sum()
