"""A memory that learns what to keep: gated recurrent units, trained with the head through the series."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from tsnl.kernel.memory.base import USUAL, Group, Memory
from tsnl.runtime.checked import check_fields
from tsnl.store.registry import register


@register
@dataclass(frozen=True)
class Recurrent:
    """Gated recurrent units (Cho et al., 2014) that see y, what is absent, and inputs.

    Attributes:
        width: units.
    """

    width: int = 32

    def __post_init__(self) -> None:
        check_fields(self)
        if self.width < 1:
            raise ValueError(f"width is {self.width}, expected at least 1.")

    def make(self, key: Key[Array, ""], d_y: int, d_u: int) -> "RecurrentMemory":
        """Random weights."""
        return RecurrentMemory(eqx.nn.GRUCell(3 * d_y + d_u, self.width, key=key))


class RecurrentMemory(Memory):
    """See `Recurrent`."""

    cell: eqx.nn.GRUCell

    def init(self) -> Float[Array, " n"]:
        """Nothing seen."""
        return jnp.zeros(self.cell.hidden_size)

    def push(
        self,
        state: Float[Array, " n"],
        y: Float[Array, " d_y"],
        seen: Bool[Array, " d_y"],
        u: Float[Array, " d_u"],
    ) -> Float[Array, " n"]:
        """One step of the units."""
        return self.cell(_row(y, seen, u), state)

    def features(self, state: Float[Array, " n"]) -> Float[Array, " n"]:
        """The units."""
        return state

    def along(
        self,
        y: Float[Array, "T d_y"],
        seen: Bool[Array, "T d_y"],
        u: Float[Array, "T d_u"],
    ) -> Float[Array, "T n"]:
        """What does not depend on the units is computed for all rows at once."""
        cell, bias, bias_n = self.cell, self.cell.bias, self.cell.bias_n
        assert bias is not None
        assert bias_n is not None
        given = _row(y, seen, u) @ cell.weight_ih.T + bias

        def step(units: Array, now: Array) -> tuple[Array, Array]:
            return _gated(now, cell.weight_hh @ units, bias_n, units), units

        return jax.lax.scan(step, self.init(), given, unroll=4)[1]

    def groups(self) -> tuple[Group, ...]:
        """One, which does not tell where rows lie: units are bounded."""
        return (Group.of(USUAL, np.ones(self.cell.hidden_size), located=False),)


def _row(
    y: Float[Array, "*T d_y"], seen: Bool[Array, "*T d_y"], u: Float[Array, "*T d_u"]
) -> Float[Array, "*T seen"]:
    """What the units see of a row: far-out values by their logarithm, and in size."""
    tame = jnp.arcsinh(y)
    return jnp.concatenate([tame, jnp.abs(tame), 1.0 - seen, u], axis=-1)


def _gated(
    given: Float[Array, " gates"], kept: Float[Array, " gates"], bias: Float[Array, " n"], units: Array
) -> Float[Array, " n"]:
    """The step of `eqx.nn.GRUCell`, given what the row gives."""
    reset_in, update_in, new_in = jnp.split(given, 3)
    reset_kept, update_kept, new_kept = jnp.split(kept, 3)
    reset = jax.nn.sigmoid(reset_in + reset_kept)
    update = jax.nn.sigmoid(update_in + update_kept)
    new = jnp.tanh(new_in + reset * (new_kept + bias))
    return new + update * (units - new)
