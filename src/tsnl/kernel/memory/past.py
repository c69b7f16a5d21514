"""What of the past a kernel sees, and the summaries of the far past."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

# |y| of a standard normal has mean 0.8: where a summary starts before it has seen anything.
TYPICAL_SIZE, SMALLEST_SIZE = 0.8, 0.02


class Context(NamedTuple):
    """What is known before y_t, in standardised units; any leading axes.

    Attributes:
        lags: y_{t-1}, ..., y_{t-L}, zero where absent.
        absent: 1 where that entry is before the start or was not observed, else 0.
        far: summaries of the whole past, zero on average.
        inputs: known inputs u_t, u_{t-1}, ..., u_{t-L}, zero before the start; none most often.
    """

    lags: Float[Array, "... L d_y"]
    absent: Float[Array, "... L d_y"]
    far: Float[Array, "... num_far"]
    inputs: Float[Array, "... num_known"]


class Past(eqx.Module):
    """How much a kernel sees: the near lags, the decay rates of the summaries, columns of inputs."""

    lag: int = eqx.field(static=True)
    decays: tuple[float, ...] = eqx.field(static=True)
    d_u: int = eqx.field(static=True, default=0)

    def __check_init__(self) -> None:
        if self.lag < 0:
            raise ValueError(f"lag is {self.lag}, expected 0 or more.")
        if any(not 0 < decay < 1 for decay in self.decays):
            raise ValueError(f"decays are {self.decays}, expected rates between 0 and 1.")

    def num_far(self, d_y: int) -> int:
        """Number of summaries of a series with d_y columns."""
        return 2 * len(self.decays) * d_y

    @property
    def num_known(self) -> int:
        """Number of known inputs in a context."""
        return (self.lag + 1) * self.d_u

    def num_features(self, d_y: int) -> int:
        """Number of entries of a context: lags, absences, summaries and inputs."""
        return 2 * self.lag * d_y + self.num_far(d_y) + self.num_known


class Sums(NamedTuple):
    """Exponentially weighted sums over the rows seen so far, for each decay rate and column."""

    level: Float[Array, "rates d_y"]
    size: Float[Array, "rates d_y"]
    weight: Float[Array, "rates d_y"]

    @staticmethod
    def none(decays: tuple[float, ...], d_y: int) -> "Sums":
        """Before the first row."""
        nothing = jnp.zeros((len(decays), d_y))
        return Sums(nothing, nothing, nothing)

    def push(
        self, row: Float[Array, " d_y"], seen: Bool[Array, " d_y"], decays: tuple[float, ...]
    ) -> "Sums":
        """After one more row; an entry that was not seen only makes the others older."""
        rates = jnp.asarray(decays)[:, None]
        gain = (1 - rates) * seen
        return Sums(
            rates * self.level + gain * row,
            rates * self.size + gain * jnp.abs(row),
            rates * self.weight + gain,
        )


def summaries(sums: Sums, decays: tuple[float, ...]) -> Float[Array, "... num_far"]:
    r"""The averages that the sums stand for, as one vector; leading axes stay.

    For each decay rate r and each column, the average of y and of |y| over the rows seen so far, with
    weights \(r^{t-s}\) and half a row of prior weight at its typical value, so that the first rows are
    shrunk instead of wild; |y| enters as a logarithm.
    """
    start = 0.5 * (1 - jnp.asarray(decays)[:, None])  # the prior's weight
    level = sums.level / (sums.weight + start)
    size = (sums.size + start * TYPICAL_SIZE) / (sums.weight + start)
    size = jnp.log(size + SMALLEST_SIZE) - jnp.log(TYPICAL_SIZE + SMALLEST_SIZE)
    both = jnp.concatenate([level, size], axis=-2)
    return both.reshape(*both.shape[:-2], -1)


def far_past(
    y: Float[Array, "T d_y"], seen: Bool[Array, "T d_y"], decays: tuple[float, ...]
) -> Float[Array, "T num_far"]:
    """Summaries of y_{1:t-1} for t = 1..T."""
    if not decays:
        return jnp.zeros((y.shape[0], 0))

    def step(sums: Sums, now: tuple[Array, Array]) -> tuple[Sums, Sums]:
        return sums.push(*now, decays), sums

    rows = jnp.where(seen, y, 0.0)
    _, before = jax.lax.scan(step, Sums.none(decays, y.shape[1]), (rows, seen))
    return summaries(before, decays)
