"""What training makes small: minus the log-density of rows that are held against a member."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from tsnl.kernel.examples import Examples
from tsnl.kernel.member import Member
from tsnl.kernel.training import num_pieces

LEAST_SERIES = 32  # in a step, where whole series are learned from
MOST_ROWS = 1024  # in a step, of whole series
ROWS_EACH = 16  # of each series in a step, that its head is evaluated at


@dataclass(frozen=True)
class Objective:
    """Minus the mean log-density of some rows, by a member whose weights are one vector.

    Units are what a step picks from: rows (their number in all series) where features are known, whole
    series where they are not.
    """

    examples: Examples
    restore: Callable[[Float[Array, " weights"]], Member]
    static: Member

    def units(self, use: Bool[Array, "N T"]) -> Bool[Array, " units"]:
        """Which units some rows are in."""
        return use.any(axis=1) if self.examples.features is None else use.ravel()

    def size(self, num_rows: int) -> int:
        """Units that hold about so many rows."""
        num_series, length = self.examples.y.shape[:2]
        if self.examples.features is not None:
            return num_rows
        return min(num_series, max(LEAST_SERIES, min(num_rows, MOST_ROWS) // length))

    def spots(self, key: Key[Array, ""], n: int) -> Int[Array, "n k"] | None:
        """Times at which the heads of n series are evaluated in a step; None for rows, or for all."""
        length = self.examples.y.shape[1]
        if self.examples.features is not None or length <= ROWS_EACH:
            return None
        places = (jnp.arange(ROWS_EACH) + jax.random.uniform(key, (n, ROWS_EACH))) / ROWS_EACH
        return jnp.floor(places * length).astype(jnp.int32)

    def __call__(
        self,
        weights: Float[Array, " weights"],
        fixed: Any,
        units: Int[Array, " n"],
        use: Bool[Array, "N T"],
        strength: float | Float[Array, ""],
        spots: Int[Array, "n k"] | None = None,
    ) -> Float[Array, ""]:
        """The loss over the rows in use of some units, and the penalty in this strength.

        Of whole series, the head may be evaluated at a few spots of each alone.
        """
        member = eqx.combine(self.restore(weights), fixed, self.static)
        examples, length = self.examples, use.shape[1]
        if examples.features is not None:
            series, time = units // length, units % length
            picked = examples.targets[series, time], examples.features[series, time]
            mean = jnp.mean(member.head.log_probs(*picked, examples.theta[series]))
        else:
            some = examples.take(units)
            features, there = some.along(member), use[units]
            targets = some.targets
            if spots is not None:
                rows = jnp.arange(len(units))[:, None]
                targets, features, there = (x[rows, spots] for x in (targets, features, there))
            log_q = jax.vmap(member.head.log_probs)(targets, features, some.theta)
            mean = jnp.sum(jnp.where(there, log_q, 0.0)) / jnp.maximum(jnp.sum(there), 1)
        return -mean + strength * member.head.penalty()

    def gradient(
        self,
        weights: Float[Array, " weights"],
        fixed: Any,
        units: Int[Array, " n"],
        use: Bool[Array, "N T"],
        strength: float | Float[Array, ""],
        spots: Int[Array, "n k"] | None = None,
    ) -> Float[Array, " weights"]:
        """Of the loss, whose arguments these are: of rows in pieces of one size, of series at once.

        What the layers make of one piece fits a core's cache; of all rows it does not (decision 0021).
        """
        pieces = num_pieces(len(units))
        if self.examples.features is None or pieces == 1:
            return jax.grad(self)(weights, fixed, units, use, strength, spots)

        def add(total: Array, some: Int[Array, " rows"]) -> tuple[Array, None]:
            return total + jax.grad(self)(weights, fixed, some, use, strength), None

        parts = units.reshape(-1, pieces).T  # each from all over the data
        return jax.lax.scan(add, jnp.zeros_like(weights), parts)[0] / pieces
