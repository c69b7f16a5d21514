r"""Probabilities of integer-valued entries, by a mixture of logistic laws cut into bins.

\(P(y = k) = \sum_i w_i \big(F_i(k + \tfrac12) - F_i(k - \tfrac12)\big)\) on the standardised scale,
the lowest bin open to the left: the probabilities of all counts sum to one, no noise is added to the
data, and a component that lies below the lowest count is an excess of zeros.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from tsnl.kernel.heads.component import Component, log_sum
from tsnl.kernel.heads.mixture import MixtureHead


class CountsHead(MixtureHead):
    """A `MixtureHead` some of whose entries are integer-valued.

    A row is three parts of d_y entries each: the values, and the lower and upper ends of their bins.
    """

    integer: tuple[bool, ...] = eqx.field(static=True)

    def _log_prob(self, j: Array, y: Float[Array, "kinds n"], law: Component) -> Float[Array, " n"]:
        r"""By \(\sigma(b) - \sigma(a) = \sigma(b) \sigma(-a) (1 - e^{a - b})\), which never cancels."""
        low, high = law.white(y[1]), law.white(y[2])
        width = jnp.maximum(high - low, 1e-9)
        terms = jax.nn.log_sigmoid(high) + jax.nn.log_sigmoid(-low) + jnp.log(-jnp.expm1(-width))
        log_p = log_sum(law.log_weights + terms) - log_sum(law.log_weights)
        return self._either(j, log_p, lambda: MixtureHead._log_prob(self, j, y, law))

    def _tails(
        self, j: Array, y: Float[Array, "kinds n"], law: Component
    ) -> tuple[Float[Array, "K n"], Float[Array, "K n"]]:
        """Probabilities below and above the bin."""
        tails = jax.nn.sigmoid(law.white(y[1])), jax.nn.sigmoid(-law.white(y[2]))
        return self._either(j, tails, lambda: MixtureHead._tails(self, j, y, law))

    def _noise(self, key: Key[Array, ""], j: Array, n: int) -> Float[Array, " n"]:
        """Logistic where y counts."""
        return self._either(j, jax.random.logistic(key, (n,)), lambda: jax.random.normal(key, (n,)))

    def _either(self, j: Array, counted: Any, real: Callable[[], Any]) -> Any:
        """What holds for component j; nothing is made of reals where there are none."""
        if all(self.integer):
            return counted
        integer = jnp.array(self.integer)[j]
        return jax.tree.map(lambda a, b: jnp.where(integer, a, b), counted, real())
