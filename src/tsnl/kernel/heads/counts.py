r"""Probabilities of integer-valued entries, by a mixture of logistic laws cut into bins.

\(P(y = k) = \sum_i w_i \big(F_i(k + \tfrac12) - F_i(k - \tfrac12)\big)\) on the standardised scale,
the lowest bin open to the left: the probabilities of all counts sum to one, no noise is added to the
data, and a component that lies below the lowest count is an excess of zeros.
"""

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

    def _bin(self, j: int, y: Array, part: Component) -> tuple[Array, Array]:
        """The ends of the bin of component j, whitened."""
        d_y = len(self.parts)
        return part.white(y[..., d_y + j]), part.white(y[..., 2 * d_y + j])

    def _log_prob(self, j: int, y: Array, part: Component) -> Array:
        r"""By \(\sigma(b) - \sigma(a) = \sigma(b) \sigma(-a) (1 - e^{a - b})\), which never cancels."""
        if not self.integer[j]:
            return super()._log_prob(j, y, part)
        low, high = self._bin(j, y, part)
        width = jnp.maximum(high - low, 1e-9)
        terms = jax.nn.log_sigmoid(high) + jax.nn.log_sigmoid(-low) + jnp.log(-jnp.expm1(-width))
        return log_sum(part.log_weights + terms) - log_sum(part.log_weights)

    def _tails(self, j: int, y: Array, part: Component) -> tuple[Array, Array]:
        """Probabilities below and above the bin."""
        if not self.integer[j]:
            return super()._tails(j, y, part)
        low, high = self._bin(j, y, part)
        return jax.nn.sigmoid(low), jax.nn.sigmoid(-high)

    def _noise(self, key: Key[Array, ""], j: int) -> Float[Array, ""]:
        """Logistic where y counts."""
        return jax.random.logistic(key) if self.integer[j] else jax.random.normal(key)
