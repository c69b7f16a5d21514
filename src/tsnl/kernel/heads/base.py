r"""What a head is: a density q(y | features, theta) of one row, in standardised units.

A family is a frozen dataclass of options whose `make` gives a fresh head; a head is an `eqx.Module` for
one row. Batches and ensembles are `vmap` outside.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from tsnl.kernel.memory.base import Group

Groups = tuple[Group, ...]
Settle = Callable[[Float[Array, "n d_y"]], Float[Array, "n d_y"]]
"""Standardised rows as the data can have them: counts are whole."""


class Head(eqx.Module):
    """A conditional density of one row."""

    @abstractmethod
    def log_prob(
        self, y: Float[Array, " d_y"], features: Float[Array, " F"], theta: Float[Array, " size"]
    ) -> Float[Array, ""]:
        r"""\(\log q(y_t \mid \text{features}, \theta)\)."""

    def log_probs(
        self, y: Float[Array, "n d_y"], features: Float[Array, "n F"], theta: Float[Array, "*#n size"]
    ) -> Float[Array, " n"]:
        """The same for n rows, at one theta or at one for each row.

        A family that takes leading axes anyway need not be mapped.
        """
        axis = None if theta.ndim == 1 else 0
        return jax.vmap(self.log_prob, in_axes=(0, 0, axis))(y, features, theta)

    @abstractmethod
    def sample(
        self, key: Key[Array, ""], features: Float[Array, " F"], theta: Float[Array, " size"]
    ) -> Float[Array, " d_y"]:
        """Draw y_t, all entries of which are real."""

    def samples(
        self,
        key: Key[Array, ""],
        features: Float[Array, "n F"],
        theta: Float[Array, " size"],
        settle: Settle | None = None,
    ) -> Float[Array, "n d_y"]:
        """A draw for each of n rows, at one theta.

        A head of counts has to `settle` an entry before it draws those that depend on it; others have
        nothing to settle.
        """
        keys = jax.random.split(key, len(features))
        return jax.vmap(lambda k, c: self.sample(k, c, theta))(keys, features)

    def penalty(self) -> Float[Array, ""]:
        """Minus the log-prior of the weights, in nats, up to a constant."""
        return jnp.zeros(())


class Rows(NamedTuple):
    """Rows to look at before training begins.

    Attributes:
        y, features: of each row; y may be one of its components alone.
        theta: of each series.
        series: which series a row is of.
        share: rows that each of these stands for.
    """

    y: Float[Array, "n ..."]
    features: Float[Array, "n F"]
    theta: Float[Array, "N size"]
    series: Int[Array, " n"]
    share: Float[Array, ""]


@runtime_checkable
class HeadFamily(Protocol):
    """Options of a family of heads, and how to make one."""

    def make(self, key: Key[Array, ""], d_y: int, groups: Groups, size: int) -> Head:
        """A fresh head for d_y columns, the groups of features and `size` parameters."""
        ...


@runtime_checkable
class CountsFamily(Protocol):
    """A family with heads that give probabilities of integer-valued entries.

    They take rows of three parts: the values, and the lower and the upper ends of their bins.
    """

    def make_counts(
        self, key: Key[Array, ""], d_y: int, groups: Groups, size: int, integer: tuple[bool, ...]
    ) -> Head:
        """A fresh head, for entries some of which are integer-valued."""
        ...


@runtime_checkable
class StartsFromRows(Protocol):
    """A family whose heads start better than fresh after a look at some rows."""

    def start(self, head: Head, rows: Rows) -> Head:
        """The head with what the rows say."""
        ...


@runtime_checkable
class HasConditionals(Protocol):
    """A head that knows the distribution function of each component given those before it."""

    def conditionals(
        self, y: Float[Array, "n d_y"], features: Float[Array, "n F"], theta: Float[Array, "n size"]
    ) -> tuple[Float[Array, "n d_y"], Float[Array, "n d_y"], Float[Array, "n d_y"]]:
        """Log-density, probability below and probability above."""
        ...


def num_features(groups: Groups) -> int:
    """Of all groups together."""
    return sum(len(group.mean_sd) for group in groups)


def num_weights(head: Head, d_y: int, groups: Groups, size: int) -> int:
    """The number of trained weights: those that the log-density depends on at some input.

    Masked and frozen entries have no gradient anywhere, so they do not count.
    """
    arrays, static = eqx.partition(head, eqx.is_inexact_array)
    cuts = d_y, d_y + size

    def log_prob(arrays: Head, key: Key[Array, ""]) -> Array:
        y, theta, features = jnp.split(jax.random.normal(key, (cuts[1] + num_features(groups),)), cuts)
        return eqx.combine(arrays, static).log_prob(y, features, theta)

    def nudge(x: Array) -> Array:  # no weight is hidden behind another that starts at zero
        return x + 0.1 * jax.random.normal(jax.random.key(x.size), x.shape)

    keys = jax.random.split(jax.random.key(0), 64)
    gradients = jax.jit(jax.vmap(jax.grad(log_prob), in_axes=(None, 0)))(
        jax.tree.map(nudge, arrays), keys
    )
    return sum(int(jnp.any(g != 0, axis=0).sum()) for g in jax.tree.leaves(gradients))
