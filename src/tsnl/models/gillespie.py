"""The exact stochastic simulation algorithm for the predator-prey reactions, in numba.

Each trajectory carries its own generator (xoshiro256++, seeded through splitmix64), so a batch gives
the same paths in any order and on any number of threads.
"""

import threading

import numba
import numpy as np
from jaxtyping import Float, UInt32

_U64 = np.uint64
_ONE_LOCK = threading.Lock()  # numba's default thread pool takes one caller at a time


@numba.njit(inline="always")
def _rotate(x, k):
    return (x << _U64(k)) | (x >> _U64(64 - k))


@numba.njit(inline="always")
def _splitmix(x):
    z = x
    z = (z ^ (z >> _U64(30))) * _U64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> _U64(27))) * _U64(0x94D049BB133111EB)
    return z ^ (z >> _U64(31))


@numba.njit(inline="always")
def _next(s0, s1, s2, s3):
    """A float in (0, 1), never zero so that its logarithm is finite, and the generator's new state."""
    bits = _rotate(s0 + s3, 23) + s0
    shifted = s1 << _U64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    s3 = _rotate(s3, 45)
    return (np.float64(bits >> _U64(12)) + 0.5) * 2.0**-52, s0, s1, s2, s3


@numba.njit(cache=True, nogil=True)
def _one_interval(seed, predators, prey, rates, dt, cap):
    """Run the reactions for a time dt: (predators, prey, events), events = cap + 1 past the cap."""
    golden = _U64(0x9E3779B97F4A7C15)
    s0 = _splitmix(seed + golden)
    s1 = _splitmix(seed + _U64(2) * golden)
    s2 = _splitmix(seed + _U64(3) * golden)
    s3 = _splitmix(seed + _U64(4) * golden)
    time = 0.0
    events = 0
    while True:
        meetings = predators * prey
        first = rates[0] * meetings  # cumulative rates of the four reactions
        second = first + rates[1] * meetings
        third = second + rates[2] * prey
        total = third + rates[3] * predators
        if total <= 0.0:
            return predators, prey, events
        wait, s0, s1, s2, s3 = _next(s0, s1, s2, s3)
        time -= np.log(wait) / total
        if time > dt:
            return predators, prey, events
        events += 1
        if events > cap:
            return predators, prey, events
        pick, s0, s1, s2, s3 = _next(s0, s1, s2, s3)
        pick *= total
        # sums of comparisons, not branches: which reaction comes next cannot be predicted
        predators += np.float64(pick < first) - np.float64(pick >= third)
        prey += np.float64(pick < third) - 2.0 * np.float64(pick < second)


@numba.njit(cache=True, parallel=True, nogil=True)
def _batch(seeds, states, rates, dt, cap, out, events):
    for i in numba.prange(seeds.shape[0]):
        seed = (_U64(seeds[i, 0]) << _U64(32)) | _U64(seeds[i, 1])
        predators, prey = states[i, 0], states[i, 1]
        if not np.isfinite(predators + prey + rates[i].sum()):
            out[i, 0] = np.nan
            out[i, 1] = np.nan
            continue
        predators, prey, events[i] = _one_interval(seed, predators, prey, rates[i], dt, cap)
        if events[i] > cap:
            predators, prey = np.nan, np.nan
        out[i, 0] = predators
        out[i, 1] = prey


def react(
    seeds: UInt32[np.ndarray, "n 2"],
    states: Float[np.ndarray, "n 2"],
    rates: Float[np.ndarray, "n 4"],
    dt: float,
    cap: int,
) -> tuple[Float[np.ndarray, "n 2"], np.ndarray]:
    r"""Advance a batch of predator-prey populations by one interval.

    Reactions and rates: \(A + B \to 2A\) at \(\rho_1 A B\), \(A + B \to A\) at \(\rho_2 A B\),
    \(B \to 2B\) at \(\rho_3 B\), \(A \to \emptyset\) at \(\rho_4 A\).

    Args:
        seeds: the raw words of a JAX key for each trajectory.
        states: (predators, prey) for each; NaN stays NaN.
        rates: rho_1..rho_4 for each.
        dt: length of the interval.
        cap: most events in the interval; a trajectory that needs more has failed and becomes NaN.

    Returns:
        The new states and the number of events of each trajectory.
    """
    out = np.empty((len(seeds), 2))
    events = np.zeros(len(seeds), dtype=np.int64)
    with _ONE_LOCK:
        _batch(
            np.ascontiguousarray(seeds),
            np.ascontiguousarray(states, dtype=np.float64),
            np.ascontiguousarray(rates, dtype=np.float64),
            float(dt),
            int(cap),
            out,
            events,
        )
    return out, events
