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

ENTRIES = 1600  # in a step where whole series are learned from, about
FEWEST, MOST = 4, 64  # series in such a step
WINDOW, WARM = 256, 64  # rows of a long series in a step, and the first of them that only fill a memory


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
        """Units of a step that is to have so many rows, where it goes by rows."""
        if self.examples.features is not None:
            return num_rows
        num_series, length, d_y = self.examples.y.shape
        wanted = ENTRIES // (min(length, WINDOW) * d_y)
        return min(num_series, max(FEWEST, min(wanted, MOST)))

    def windows(self, key: Key[Array, ""], n: int) -> Int[Array, " n"] | None:
        """First rows of what is seen of n series in a step; None for rows, or for whole series.

        A series counts as long as it is, and its ends are seen as often as its middle.
        """
        length = self.examples.y.shape[1]
        if self.examples.features is not None or length <= WINDOW:
            return None
        first = jax.random.randint(key, (n,), WARM - WINDOW, length - WARM)
        return jnp.clip(first, 0, length - WINDOW)

    def __call__(
        self,
        weights: Float[Array, " weights"],
        fixed: Any,
        units: Int[Array, " n"],
        use: Bool[Array, "N T"],
        strength: float | Float[Array, ""],
        windows: Int[Array, " n"] | None = None,
    ) -> Float[Array, ""]:
        """The loss over the rows in use of some units, and the penalty in this strength.

        Of long series, windows alone may be seen: a memory fills over their first rows.
        """
        member = eqx.combine(self.restore(weights), fixed, self.static)
        examples, length = self.examples, use.shape[1]
        if examples.features is not None:
            series, time = units // length, units % length
            picked = examples.targets[series, time], examples.features[series, time]
            mean = jnp.mean(member.head.log_probs(*picked, examples.theta[series]))
        else:
            some, there = examples.take(units), use[units]
            if windows is not None:
                some, there = _seen_in(windows, (some, there))
                warm = jnp.where(windows > 0, WARM, 0)
                there &= jnp.arange(WINDOW) >= warm[:, None]
            features, targets = some.along(member), some.targets
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
        windows: Int[Array, " n"] | None = None,
    ) -> Float[Array, " weights"]:
        """Of the loss, whose arguments these are: of rows in pieces of one size, of series at once.

        What the layers make of one piece fits a core's cache; of all rows it does not (decision 0021).
        """
        pieces = num_pieces(len(units))
        if self.examples.features is None or pieces == 1:
            return jax.grad(self)(weights, fixed, units, use, strength, windows)

        def add(total: Array, some: Int[Array, " rows"]) -> tuple[Array, None]:
            return total + jax.grad(self)(weights, fixed, some, use, strength), None

        parts = units.reshape(-1, pieces).T  # each from all over the data
        return jax.lax.scan(add, jnp.zeros_like(weights), parts)[0] / pieces


def _seen_in(
    windows: Int[Array, " n"], whole: tuple[Examples, Bool[Array, "n T"]]
) -> tuple[Examples, Bool[Array, "n window"]]:
    """What a window shows of each series."""
    some, there = whole

    def one(first: Array, x: Array) -> Array:
        return jax.lax.dynamic_slice_in_dim(x, first, WINDOW)

    timed = some.y, some.seen, some.u, some.bins, there
    y, seen, u, bins, there = jax.tree.map(lambda x: jax.vmap(one)(windows, x), timed)
    return Examples(y, seen, u, some.theta, bins), there
