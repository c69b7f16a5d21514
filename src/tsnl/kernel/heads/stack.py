r"""Two ensembles of heads as one head: the mixture of their densities.

.. math::
    q = w_1 \frac1{M_1} \sum_m q_{1m}(y \mid c, \theta)
      + w_2 \frac1{M_2} \sum_m q_{2m}(y \mid c, h_m, \theta),

where all heads see the common features c, and each of the second ensemble those of a memory of its own,
\(h_m\). The weights come from stacking (see `tsnl.kernel.stacking`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.kernel.heads.autoregressive import Autoregressive
from tsnl.kernel.heads.base import Groups, Head, Settle, num_features
from tsnl.kernel.heads.mixture import Mixture
from tsnl.kernel.heads.network import Network
from tsnl.runtime.checked import check_fields
from tsnl.store.registry import register


@register
@dataclass(frozen=True)
class Stack:
    """What two ensembles are stacked.

    Attributes:
        first, second: families of the heads.
        members: heads in each.
        num_groups: groups of the features that all see, and of those of each memory that one head of
            the second sees alone.
    """

    first: Mixture
    second: Network
    members: tuple[int, int]
    num_groups: tuple[int, int]

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("members", "num_groups"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if min(*self.members, *self.num_groups) < 1:
            raise ValueError(f"{self}: expected a member and a group or more in each.")

    def make(self, key: Key[Array, ""], d_y: int, groups: Groups, size: int) -> "StackHead":
        """Fresh heads of equal weight."""
        return self.make_counts(key, d_y, groups, size, ())

    def make_counts(
        self, key: Key[Array, ""], d_y: int, groups: Groups, size: int, integer: tuple[bool, ...]
    ) -> "StackHead":
        """Fresh heads of equal weight, for entries some of which are integer-valued."""
        common, own = self.num_groups
        end = common + own * self.members[1]
        seen = groups[:common], groups[common : common + own], groups[end:]  # the last: known inputs
        keys = jax.random.split(key, sum(self.members))

        def fresh(family: Mixture | Network, keys: Array, groups: Groups) -> Any:
            return eqx.filter_vmap(lambda k: family.make_counts(k, d_y, groups, size, integer))(keys)

        first = fresh(self.first, keys[: self.members[0]], seen[0] + seen[2])
        second = fresh(self.second, keys[self.members[0] :], seen[0] + seen[1] + seen[2])
        return StackHead(first, second, jnp.full(2, -np.log(2.0), dtype=float), self.widths(groups))

    def widths(self, groups: Groups) -> tuple[int, int]:
        """Features that all see, and those of each memory that one head of the second sees alone."""
        common, own = self.num_groups
        return num_features(groups[:common]), num_features(groups[common : common + own])


class StackHead(Head):
    """The density; see the module.

    Attributes:
        first, second: the heads of each ensemble, stacked along a first axis.
        log_weights: of both, up to a constant.
        num_features: that all see, and of each memory that one head of the second sees alone.
    """

    first: Autoregressive
    second: Autoregressive
    log_weights: Float[Array, "*M 2"]
    num_features: tuple[int, int] = eqx.field(static=True)

    @property
    def members(self) -> tuple[int, int]:
        """Heads in each ensemble."""
        first, second = (len(jax.tree.leaves(x)[0]) for x in (self.first, self.second))
        return first, second

    def _each(self, call: Callable[[Autoregressive, Array], Any], features: Float[Array, "*b F"]) -> Any:
        """Call something with each head and what it sees; results have a first axis, of all heads."""
        common, own = self.num_features
        members = self.members[1]
        c, *parts = jnp.split(features, common + own * np.arange(members + 1), axis=-1)
        *each, known = parts
        found = [_mapped(lambda head: call(head, jnp.concatenate([c, known], axis=-1)), self.first)]
        seen = jnp.stack([jnp.concatenate([c, x, known], axis=-1) for x in each])
        found.append(_mapped(call, self.second, seen))
        return jax.tree.map(lambda *x: jnp.concatenate(x), *found)

    @property
    def log_shares(self) -> Float[Array, " M"]:
        """The log of each head's weight."""
        pairs = zip(self.members, jax.nn.log_softmax(self.log_weights), strict=True)
        return jnp.concatenate([jnp.full(m, w) - np.log(m) for m, w in pairs])

    def _shares(self, ndim: int) -> Float[Array, "M ..."]:
        """The same with further axes."""
        return self.log_shares.reshape(-1, *[1] * ndim)

    def log_prob(
        self,
        y: Float[Array, "*b entries"],
        features: Float[Array, "*b F"],
        theta: Float[Array, "*#b size"],
    ) -> Float[Array, "*b"]:
        """The log of the weighted sum; leading axes stay."""
        found = self.each_log_prob(y, features, theta)
        return jax.nn.logsumexp(self._shares(found.ndim - 1) + found, axis=0)

    def each_log_prob(
        self,
        y: Float[Array, "*b entries"],
        features: Float[Array, "*b F"],
        theta: Float[Array, "*#b size"],
    ) -> Float[Array, "M ..."]:
        """By each head alone."""
        return self._each(lambda head, c: head.log_prob(y, c, theta), features)

    log_probs = log_prob

    def conditionals(
        self,
        y: Float[Array, "*b entries"],
        features: Float[Array, "*b F"],
        theta: Float[Array, "*#b size"],
    ) -> tuple[Float[Array, "*b d_y"], Float[Array, "*b d_y"], Float[Array, "*b d_y"]]:
        """Of each component given those before it: log-density, probability below it and above it.

        A head's weight grows with how well it foresaw the components before.
        """
        log_q, below, above = self._each(lambda head, c: head.conditionals(y, c, theta), features)
        before = jnp.cumsum(log_q, axis=-1) - log_q
        log_share = jax.nn.log_softmax(self._shares(log_q.ndim - 1) + before, axis=0)
        share = jnp.exp(log_share)
        total = jax.nn.logsumexp(log_share + log_q, axis=0)
        return total, jnp.sum(share * below, axis=0), jnp.sum(share * above, axis=0)

    def sample(
        self, key: Key[Array, ""], features: Float[Array, " F"], theta: Float[Array, " size"]
    ) -> Float[Array, " d_y"]:
        """Draw y_t."""
        return self.samples(key, features[None], theta)[0]

    def samples(
        self,
        key: Key[Array, ""],
        features: Float[Array, "n F"],
        theta: Float[Array, " size"],
        settle: Settle | None = None,
    ) -> Float[Array, "n d_y"]:
        """Each row by one of the heads."""
        key_draw, key_pick = jax.random.split(key)
        drawn = self._each(lambda head, c: head.samples(key_draw, c, theta, settle), features)
        shares, n = self._shares(0), len(features)
        pick = jax.random.categorical(key_pick, shares, shape=(n,))
        return drawn[pick, jnp.arange(n)]


def _mapped(call: Callable[..., Any], heads: Autoregressive, *each: Array) -> Any:
    """Call something with each of some stacked heads."""
    arrays, static = eqx.partition(heads, eqx.is_array)
    return jax.vmap(lambda a, *x: call(eqx.combine(a, static), *x))(arrays, *each)
