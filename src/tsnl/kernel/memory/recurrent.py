"""A memory that learns what to keep: gated recurrent layers, trained with the head."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from tsnl.kernel.memory.base import Memory
from tsnl.runtime.checked import DEEPEST, check_fields
from tsnl.store.registry import register

SLOWEST = 50.0  # rows that the slowest unit remembers at the start


@register
@dataclass(frozen=True)
class Recurrent:
    r"""Layers of minimal gated units (Feng et al., 2024) that see y, what is absent, and inputs.

    A unit keeps a share k of its state and takes the rest from what it sees,
    \(h_t = k_t h_{t-1} + (1 - k_t) c_t\), where \(k_t\) and \(c_t\) depend on the layer below and not on
    h: along a whole series everything but this recurrence is computed at once.

    Attributes:
        width: units of a layer.
        depth: layers.
    """

    width: int = 32
    depth: int = 2

    def __post_init__(self) -> None:
        check_fields(self)
        if self.width < 1 or not 1 <= self.depth <= DEEPEST:
            raise ValueError(
                f"width is {self.width} and depth {self.depth}, expected at least 1, and no more than "
                f"{DEEPEST} layers."
            )

    def make(self, key: Key[Array, ""], d_y: int, d_u: int) -> "RecurrentMemory":
        """Random weights; units that forget at rates from one row to `SLOWEST`."""
        layers, seen = [], 3 * d_y + d_u
        for key_layer in jax.random.split(key, self.depth):
            keys = jax.random.split(key_layer, 2)
            rows = jnp.exp(jax.random.uniform(keys[0], (self.width,), maxval=np.log(SLOWEST)))
            weight = jax.random.normal(keys[1], (seen, 2 * self.width)) / np.sqrt(seen)
            layers.append((weight, jnp.concatenate([jnp.log(rows), jnp.zeros(self.width)])))
            seen = 3 * d_y + d_u + self.width
        return RecurrentMemory(tuple(layers))


class RecurrentMemory(Memory):
    """See `Recurrent`."""

    layers: tuple[tuple[Float[Array, "_ gates"], Float[Array, " gates"]], ...]

    def init(self) -> Float[Array, "depth n"]:
        """Nothing seen."""
        return jnp.zeros((len(self.layers), self.layers[0][1].shape[0] // 2))

    def push(
        self,
        state: Float[Array, "depth n"],
        y: Float[Array, " d_y"],
        seen: Bool[Array, " d_y"],
        u: Float[Array, " d_u"],
    ) -> Float[Array, "depth n"]:
        """Layer after layer."""
        row, below, new = _inputs(y, seen, u), jnp.zeros(0), []
        for (weight, bias), old in zip(self.layers, state, strict=True):
            keep, candidate = _gates(jnp.concatenate([row, below]) @ weight + bias)
            below = keep * old + (1 - keep) * candidate
            new.append(below)
        return jnp.stack(new)

    def features(self, state: Float[Array, "depth n"]) -> Float[Array, " n"]:
        """The last layer."""
        return state[-1]

    def along(
        self,
        y: Float[Array, "T d_y"],
        seen: Bool[Array, "T d_y"],
        u: Float[Array, "T d_u"],
    ) -> Float[Array, "T n"]:
        """The features before each row, a layer at a time instead of a row at a time."""
        rows, below = _inputs(y, seen, u), y[:, :0]
        for weight, bias in self.layers:
            keep, candidate = _gates(jnp.concatenate([rows, below], axis=1) @ weight + bias)

            def step(old: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
                new = now[0] * old + now[1]
                return new, new

            start = jnp.zeros(keep.shape[1])
            below = jax.lax.scan(step, start, (keep, (1 - keep) * candidate), unroll=8)[1]
        return jnp.concatenate([jnp.zeros((1, below.shape[1])), below[:-1]])


def _inputs(
    y: Float[Array, "*T d_y"], seen: Bool[Array, "*T d_y"], u: Float[Array, "*T d_u"]
) -> Float[Array, "*T seen"]:
    """Far-out values enter by their logarithm, and in size."""
    tame = jnp.arcsinh(y)
    return jnp.concatenate([tame, jnp.abs(tame), 1.0 - seen, u], axis=-1)


def _gates(x: Float[Array, "*T gates"]) -> tuple[Float[Array, "*T n"], Float[Array, "*T n"]]:
    keep, candidate = jnp.split(x, 2, axis=-1)
    return jax.nn.sigmoid(keep), jnp.tanh(candidate)
