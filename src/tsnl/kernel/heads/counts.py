r"""Probabilities of integer-valued entries, by a mixture of logistic laws cut into bins.

\(P(y = k) = \sum_i w_i \big(F_i(k + \tfrac12) - F_i(k - \tfrac12)\big)\) on the standardised scale,
the lowest bin open to the left: the probabilities of all counts sum to one, no noise is added to the
data, and a component that lies below the lowest count is an excess of zeros.

An entry comes in three parts: its value, and the lower and the upper end of its bin.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from tsnl.kernel.heads.component import Component, log_sum


def log_probability(y: Float[Array, "3 n"], law: Component) -> Float[Array, " n"]:
    r"""By \(\sigma(b) - \sigma(a) = \sigma(b) \sigma(-a) (1 - e^{a - b})\), which never cancels."""
    low, high = law.white(y[1]), law.white(y[2])
    width = jnp.maximum(high - low, 1e-9)
    terms = jax.nn.log_sigmoid(high) + jax.nn.log_sigmoid(-low) + jnp.log(-jnp.expm1(-width))
    return log_sum(law.log_weights + terms) - log_sum(law.log_weights)


def tails(y: Float[Array, "3 n"], law: Component) -> tuple[Float[Array, "K n"], Float[Array, "K n"]]:
    """Probabilities below and above the bin."""
    return jax.nn.sigmoid(law.white(y[1])), jax.nn.sigmoid(-law.white(y[2]))


def noise(key: Key[Array, ""], integer: tuple[bool, ...], j: Array, n: int) -> Float[Array, " n"]:
    """The standard law behind component j: logistic where it counts, else normal."""
    if not any(integer):
        return jax.random.normal(key, (n,))
    counted = jax.random.logistic(key, (n,))
    if all(integer):
        return counted
    return jnp.where(jnp.array(integer)[j], counted, jax.random.normal(key, (n,)))
