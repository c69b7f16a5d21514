"""Resampling of weighted particles."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key


def systematic(key: Key[Array, ""], weights: Float[Array, " n"]) -> Int[Array, " n"]:
    r"""Ancestors by systematic resampling: one uniform, n equally spaced places.

    Particle i is taken \(\lfloor n w_i \rfloor\) or \(\lceil n w_i \rceil\) times and n w_i times on
    average. The ancestor of place \((u + j) / n\) is found by counting, for each particle, the places
    below its cumulative weight, which is a scatter and a cumulative sum instead of n binary searches.

    Args:
        key: a JAX random key.
        weights: non-negative, with a positive finite sum; they need not add up to one.
    """
    n = weights.shape[0]
    cumulative = jax.lax.associative_scan(jnp.add, weights)
    places = n * (cumulative / cumulative[-1]) - jax.random.uniform(key)
    below = jnp.clip(jnp.ceil(places), 0, n).astype(jnp.int32)  # places before the end of particle i
    ends = jnp.zeros(n + 1, jnp.int32).at[below].add(1)  # particles that end before each place
    ancestors = jax.lax.associative_scan(jnp.add, ends[:-1])
    return jnp.minimum(ancestors, n - 1)


def effective_size(weights: Float[Array, " n"]) -> Float[Array, ""]:
    r"""The effective sample size \(1 / \sum w^2\) of normalised weights."""
    return 1 / jnp.sum(weights**2)
