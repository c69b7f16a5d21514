r"""Probabilities of integer-valued entries, by a mixture of logistic laws cut into bins.

\(P(y = k) = \sum_i w_i \big(F_i(k + \tfrac12) - F_i(k - \tfrac12)\big)\) on the standardised scale,
the lowest bin open to the left: the probabilities of all counts sum to one, no noise is added to the
data, and a component that lies below the lowest count is an excess of zeros.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.kernel.heads.component import Component, log_sum
from tsnl.kernel.heads.mixture import MixtureHead


class CountsHead(MixtureHead):
    """A `MixtureHead` some of whose entries are integer-valued.

    A row is three parts of d_y entries each: the values, and the lower and upper ends of their bins.
    """

    integer: tuple[bool, ...] = eqx.field(static=True)

    def _kinds(self) -> dict[bool, tuple[int, ...]]:
        kinds = {k: tuple(np.flatnonzero(np.array(self.integer) == k).tolist()) for k in (True, False)}
        return {counts: places for counts, places in kinds.items() if places}

    def _log_prob(self, counts: bool, y: Float[Array, "kinds n"], law: Component) -> Float[Array, " n"]:
        r"""By \(\sigma(b) - \sigma(a) = \sigma(b) \sigma(-a) (1 - e^{a - b})\), which never cancels."""
        if not counts:
            return super()._log_prob(counts, y, law)
        low, high = law.white(y[1]), law.white(y[2])
        width = jnp.maximum(high - low, 1e-9)
        terms = jax.nn.log_sigmoid(high) + jax.nn.log_sigmoid(-low) + jnp.log(-jnp.expm1(-width))
        return log_sum(law.log_weights + terms) - log_sum(law.log_weights)

    def _tails(
        self, counts: bool, y: Float[Array, "kinds n"], law: Component
    ) -> tuple[Float[Array, "K n"], Float[Array, "K n"]]:
        """Probabilities below and above the bin."""
        if not counts:
            return super()._tails(counts, y, law)
        return jax.nn.sigmoid(law.white(y[1])), jax.nn.sigmoid(-law.white(y[2]))

    def _noise(self, key: Key[Array, ""], j: Array, n: int) -> Float[Array, " n"]:
        """Logistic where y counts."""
        counted = jax.random.logistic(key, (n,))
        if all(self.integer):
            return counted
        return jnp.where(jnp.array(self.integer)[j], counted, jax.random.normal(key, (n,)))
