"""The near past, row by row: the paper's truncation."""

from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from tsnl.kernel.memory.base import Group, Memory
from tsnl.runtime.checked import check_fields
from tsnl.store.registry import register

# Prior sds of weights at theta's centre, found by measurement on the linear, volatility and
# predator-prey problems: (in the mean, in the log-scale).
LAG, ABSENT, INPUT = (1.0, 0.05), (0.3, 1.0), (1.0, 0.3)


@register
@dataclass(frozen=True)
class Lags:
    """The last rows one by one, with a mark for each entry that is absent, and their inputs.

    Attributes:
        lag: L, how many rows.
        fading: prior sd of a lag's weight over that of the lag before it.
    """

    lag: int = 4
    fading: float = 0.8

    def __post_init__(self) -> None:
        check_fields(self)
        if self.lag < 0:
            raise ValueError(f"lag is {self.lag}, expected 0 or more.")
        if not 0 < self.fading <= 1:
            raise ValueError(f"fading is {self.fading}, expected a number in (0, 1].")

    def make(self, key: Key[Array, ""], d_y: int, d_u: int) -> "LagMemory":
        """A ring buffer of L rows."""
        return LagMemory(self, d_y, d_u)


class Recent(NamedTuple):
    """The last L rows, the latest first, zero where absent; which entries were seen; their inputs."""

    y: Float[Array, "*b L d_y"]
    seen: Bool[Array, "*b L d_y"]
    u: Float[Array, "*b L d_u"]


class LagMemory(Memory):
    """See `Lags`."""

    options: Lags = eqx.field(static=True)
    d_y: int = eqx.field(static=True)
    d_u: int = eqx.field(static=True)

    def init(self) -> Recent:
        """Nothing seen: rows before the start are absent."""
        shape = (self.options.lag, self.d_y)
        return Recent(jnp.zeros(shape), jnp.zeros(shape, bool), jnp.zeros((self.options.lag, self.d_u)))

    def push(
        self, state: Recent, y: Float[Array, " d_y"], seen: Bool[Array, " d_y"], u: Float[Array, " d_u"]
    ) -> Recent:
        """The row in front, the oldest out."""
        if not self.options.lag:
            return state
        new = (y, seen, u)
        return Recent(*(jnp.concatenate([a[None], b[:-1]]) for a, b in zip(new, state, strict=True)))

    def features(self, state: Recent) -> Float[Array, " F"]:
        """Rows, marks and inputs, lag 1 first."""
        return jnp.concatenate([state.y.ravel(), 1.0 - state.seen.ravel(), state.u.ravel()])

    def groups(self) -> tuple[Group, ...]:
        """Weights fade with the lag."""
        fade = self.options.fading ** np.arange(self.options.lag)
        kinds = (
            (LAG, self.d_y, True, self.d_y),
            (ABSENT, self.d_y, False, self.d_y),
            (INPUT, self.d_u, True, 0),
        )
        return tuple(
            Group.of(sds, np.repeat(fade, width), located, columns)
            for sds, width, located, columns in kinds
            if width and self.options.lag
        )
