"""The far past in exponentially weighted averages: a short lag sees far at a fixed cost for each row."""

from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from tsnl.kernel.memory.base import Group, Memory
from tsnl.runtime.checked import check_fields
from tsnl.store.registry import register

# |y| of a standard normal has mean 0.8: where an average starts before it has seen anything.
TYPICAL_SIZE, SMALLEST_SIZE = 0.8, 0.02
AVERAGE = (0.5, 0.3)  # prior sds of weights, in the mean and in the log-scale


@register
@dataclass(frozen=True)
class Decays:
    """Averages of y and of log |y| over the whole past, weights falling by a rate for each row.

    Attributes:
        rates: between 0 and 1.
    """

    rates: tuple[float, ...] = (0.5, 0.8, 0.95)

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "rates", tuple(self.rates))
        if any(not 0 < rate < 1 for rate in self.rates):
            raise ValueError(f"decays are {self.rates}, expected rates between 0 and 1.")

    def make(self, key: Key[Array, ""], d_y: int, d_u: int) -> "DecayMemory":
        """A recursion for each rate and column."""
        return DecayMemory(self.rates, d_y)


class Sums(NamedTuple):
    """Exponentially weighted sums over the rows seen so far, for each decay rate and column."""

    level: Float[Array, "*b rates d_y"]
    size: Float[Array, "*b rates d_y"]
    weight: Float[Array, "*b rates d_y"]


class DecayMemory(Memory):
    """See `Decays`."""

    rates: tuple[float, ...] = eqx.field(static=True)
    d_y: int = eqx.field(static=True)

    def init(self) -> Sums:
        """Nothing seen."""
        nothing = jnp.zeros((len(self.rates), self.d_y))
        return Sums(nothing, nothing, nothing)

    def push(
        self, state: Sums, y: Float[Array, " d_y"], seen: Bool[Array, " d_y"], u: Float[Array, " d_u"]
    ) -> Sums:
        """An entry that was not seen only makes the others older."""
        rates = jnp.asarray(self.rates)[:, None]
        gain = (1 - rates) * seen
        return Sums(
            rates * state.level + gain * y,
            rates * state.size + gain * jnp.abs(y),
            rates * state.weight + gain,
        )

    def features(self, state: Sums) -> Float[Array, " F"]:
        r"""The averages that the sums stand for.

        For each rate r and column, the average of y and of |y| over the rows seen so far, with weights
        \(r^{t-s}\) and half a row of prior weight at its typical value, so that the first rows are
        shrunk instead of wild; |y| enters as a logarithm.
        """
        start = 0.5 * (1 - jnp.asarray(self.rates)[:, None])  # the prior's weight
        level = state.level / (state.weight + start)
        size = (state.size + start * TYPICAL_SIZE) / (state.weight + start)
        size = jnp.log(size + SMALLEST_SIZE) - jnp.log(TYPICAL_SIZE + SMALLEST_SIZE)
        return jnp.concatenate([level.ravel(), size.ravel()])

    def groups(self) -> tuple[Group, ...]:
        """Levels, then sizes."""
        count = len(self.rates) * self.d_y
        group = Group.of(AVERAGE, np.ones(count), num_columns=self.d_y)
        return (group, group) if count else ()
