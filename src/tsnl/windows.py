r"""Lagged windows of series: the only file that knows lags, padding, masks and the split by series.

The target of time t is y_t; its context is what came before: the L near lags y_{t-1}, ..., y_{t-L}, a
mark for each entry that is absent (before the start, or not observed), and coarse summaries of the whole
past, exponentially weighted averages of y and of \(\log |y|\). The summaries let a short lag see far:
they are recursions, one pass over a series, a fixed cost for each new row.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

# |y| of a standard normal has mean 0.8: where a summary starts before it has seen anything.
TYPICAL_SIZE, SMALLEST_SIZE = 0.8, 0.02


class Context(NamedTuple):
    """What is known before y_t, in standardised units; any leading axes.

    Attributes:
        lags: y_{t-1}, ..., y_{t-L}, zero where absent.
        absent: 1 where that entry is before the start or was not observed, else 0.
        far: summaries of the whole past, zero on average.
    """

    lags: Float[Array, "... L d_y"]
    absent: Float[Array, "... L d_y"]
    far: Float[Array, "... num_far"]


class Past(eqx.Module):
    """How much of the past a kernel sees: the near lags and the decay rates of the summaries."""

    lag: int = eqx.field(static=True)
    decays: tuple[float, ...] = eqx.field(static=True)

    def __check_init__(self) -> None:
        if self.lag < 0:
            raise ValueError(f"lag is {self.lag}, expected 0 or more.")
        if any(not 0 < decay < 1 for decay in self.decays):
            raise ValueError(f"decays are {self.decays}, expected rates between 0 and 1.")

    def num_far(self, d_y: int) -> int:
        """Number of summaries of a series with d_y columns."""
        return 2 * len(self.decays) * d_y


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


class Recent(eqx.Module):
    """What of a series a kernel needs in order to go on: the last rows and the sums.

    Attributes:
        y: the last L rows, the latest first, zero where not seen.
        seen: which of their entries are there.
        sums: of all rows so far.
        past: lags and decay rates.
    """

    y: Float[Array, "L d_y"]
    seen: Bool[Array, "L d_y"]
    sums: Sums
    past: Past

    @staticmethod
    def none(past: Past, d_y: int) -> "Recent":
        """Before the first row."""
        shape = (past.lag, d_y)
        return Recent(jnp.zeros(shape), jnp.zeros(shape, bool), Sums.none(past.decays, d_y), past)

    @staticmethod
    def of(y: Float[Array, "T d_y"], seen: Bool[Array, "T d_y"], past: Past) -> "Recent":
        """After all rows of a standardised series."""
        start = Recent.none(past, y.shape[1])
        return jax.lax.scan(lambda recent, now: (recent.push(*now), None), start, (y, seen))[0]

    def push(self, row: Float[Array, " d_y"], seen: Bool[Array, " d_y"]) -> "Recent":
        """After one more standardised row."""
        row = jnp.where(seen, row, 0.0)
        return Recent(
            jnp.concatenate([row[None], self.y[:-1]]) if self.past.lag else self.y,
            jnp.concatenate([seen[None], self.seen[:-1]]) if self.past.lag else self.seen,
            self.sums.push(row, seen, self.past.decays) if self.past.decays else self.sums,
            self.past,
        )

    def context(self) -> Context:
        """The context of the next row."""
        decays = self.past.decays
        far = summaries(self.sums, decays) if decays else jnp.zeros(0)
        return Context(self.y, 1.0 - self.seen, far)


class Windows(eqx.Module):
    """N series of common length, from which any window can be taken without copying the rest.

    Attributes:
        y: standardised series, finite everywhere.
        seen: which entries a context may show; all False for the rows of a failed or a padding series.
        far: summaries of the past of every row.
        past: lags and decay rates.
    """

    y: Float[Array, "N T d_y"]
    seen: Bool[Array, "N T d_y"]
    far: Float[Array, "N T num_far"]
    past: Past

    @staticmethod
    def of(y: Float[Array, "N T d_y"], seen: Bool[Array, "N T d_y"], past: Past) -> "Windows":
        """Prepare the summaries."""
        far = jax.vmap(lambda a, b: far_past(a, b, past.decays))(y, seen)
        return Windows(y, seen, far, past)

    def take(
        self, series: Int[Array, " n"], time: Int[Array, " n"]
    ) -> tuple[Float[Array, "n d_y"], Context]:
        """Targets and contexts of n windows, the time counted from 0."""
        offsets = jnp.arange(1, self.past.lag + 1)
        when = time[:, None] - offsets  # lag 1 first
        inside = when >= 0
        there = self.seen[series[:, None], jnp.maximum(when, 0)] & inside[..., None]
        lags = jnp.where(there, self.y[series[:, None], jnp.maximum(when, 0)], 0.0)
        context = Context(lags, 1.0 - there, self.far[series, time])
        return self.y[series, time], context


def pick(counts: Int[Array, " windows"], places: Float[Array, " n"]) -> Int[Array, " n"]:
    """The windows at some places, in [0, 1), of those that a running count counts."""
    rank = jnp.floor(places * counts[-1]).astype(jnp.int32)
    index = jnp.searchsorted(counts, jnp.minimum(rank, counts[-1] - 1), side="right")
    return jnp.minimum(index, counts.shape[0] - 1)


def pick_evenly(counts: Int[Array, " windows"], n: int) -> Int[Array, " n"]:
    """Windows, n of them, evenly spaced among those counted."""
    return pick(counts, (jnp.arange(n) + 0.5) / n)


def split(
    rng: np.random.Generator,
    targets: Bool[np.ndarray, "N T"],
    num_members: int,
    fraction: float,
    lag: int,
) -> tuple[Bool[np.ndarray, "M N T"], Bool[np.ndarray, "M N T"]]:
    """Which targets each member of an ensemble trains on, and which it is held to.

    Whole series are held out, other ones for each member in turn, so that the ensemble together learns
    from all. With a single series, the last block of time is held out, a gap of `lag` before it.

    Args:
        rng: a numpy generator.
        targets: the windows that may be used at all.
        num_members: M.
        fraction: share of the series, or of the time, to hold out.
        lag: L.
    """
    train = np.repeat(targets[None], num_members, axis=0)
    held = np.zeros_like(train)
    live = rng.permutation(np.flatnonzero(targets.any(axis=1)))
    if fraction == 0:
        return train, train
    if len(live) == 1:
        times = np.flatnonzero(targets[live[0]])
        first = times[int(len(times) * (1 - fraction))]
        held[:, live[0], first:] = targets[live[0], first:]
        train[:, live[0], max(first - lag, min(first, 1)) :] = False
        return (train, held) if train.any() else (held, held)  # too short to hold anything out
    count = min(max(1, round(fraction * len(live))), len(live) - 1)
    for member in range(num_members):
        chosen = np.roll(live, -member * count)[:count]
        held[member, chosen] = targets[chosen]
        train[member, chosen] = False
    return train, held
