"""The simulations of a sequential run: proposing, keeping and choosing them."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Array, Bool, Float, Key

from tsnl.problem import Problem
from tsnl.sampling import Draws
from tsnl.sampling.spread import spread

Strategy = Literal["all", "last", "best"]
CANDIDATES = 50  # prior draws for each one that is simulated: the even cover is picked from them
OUTSIDE = 0.2  # share of rows beyond all prior simulations that is worth a warning


@dataclass
class Simulated:
    """All simulations of a run, in arrays of their final size, NaN where there is none yet."""

    z: Float[np.ndarray, "capacity size"]
    series: Float[np.ndarray, "capacity T d_y"]
    round_: np.ndarray
    count: int = 0
    cost: int = 0

    @staticmethod
    def none(problem: Problem, capacity: int) -> "Simulated":
        """Empty arrays: fixed shapes, so that what uses them is compiled once."""
        z = np.zeros((capacity, problem.prior.size))
        series = np.full((capacity, problem.length, problem.d_y), np.nan)
        return Simulated(z, series, np.full(capacity, -1))

    def add(self, z: np.ndarray, series: np.ndarray, cost: int, round_: int) -> None:
        """Append a batch; a series is cut at its first value that is not finite."""
        alive = np.logical_and.accumulate(np.isfinite(series).all(axis=2), axis=1)
        part = slice(self.count, self.count + len(z))
        self.z[part], self.round_[part] = z, round_
        self.series[part] = np.where(alive[:, :, None], series, np.nan)
        self.count += len(z)
        self.cost += cost

    def arrays(self) -> dict[str, np.ndarray]:
        """What there is, to be kept with a result and read by `of_arrays`."""
        part = slice(0, self.count)
        return {
            "simulated.z": self.z[part].astype(np.float32),
            "simulated.series": self.series[part].astype(np.float32),
            "simulated.round": self.round_[part].astype(np.int32),
        }

    @staticmethod
    def of_arrays(arrays: Mapping[str, np.ndarray]) -> "Simulated":
        """The simulations that a result kept."""
        z, series, round_ = (arrays[f"simulated.{name}"] for name in ("z", "series", "round"))
        return Simulated(
            z.astype(float), series.astype(float), round_, len(z), z.shape[0] * series.shape[1]
        )

    @property
    def num_failed(self) -> int:
        """Series that did not reach their end."""
        return int(np.isnan(self.series[: self.count, -1, 0]).sum())


def propose(
    key: Key[Array, ""],
    rng: np.random.Generator,
    problem: Problem,
    draws: Draws | None,
    n: int,
    widen: float,
) -> Float[np.ndarray, "n size"]:
    """Parameters to simulate: from the prior at first, around the last posterior after, evenly spread.

    The posterior's draws are stretched about their mean by `widen`, in no direction beyond the prior's
    own spread: how the density changes with theta is better seen from further apart.
    """
    cloud = problem.prior.sample_unconstrained(key, CANDIDATES * n)
    if draws is not None:
        limit = cloud.std(axis=0)
        cloud = draws.z.reshape(-1, draws.z.shape[-1])
        stretch = np.clip(limit / (cloud.std(axis=0) + 1e-12), 1.0, widen)
        cloud = cloud.mean(axis=0) + stretch * (cloud - cloud.mean(axis=0))
        if len(cloud) < n:  # a draw may stand for several simulations
            cloud = np.resize(cloud, (n, cloud.shape[1]))
    return spread(rng, cloud, n)


def add_simulations(
    key: Key[Array, ""], problem: Problem, simulated: Simulated, z: np.ndarray, round_: int
) -> None:
    """Simulate at z and keep what came of it."""
    theta = problem.prior.constrain_all(z)
    batch = problem.simulate(key, theta, simulated.count)
    simulated.add(z, batch.series, batch.cost, round_)


def choose(
    strategy: Strategy, simulated: Simulated, observed: np.ndarray, count: int
) -> Bool[np.ndarray, " capacity"]:
    """Which series to learn from: all, the last round's, or the `count` closest to the observed one."""
    there = np.isfinite(simulated.series[:, 0, 0])
    if strategy == "last":
        return there & (simulated.round_ == simulated.round_.max())
    if strategy == "best":
        seen = np.isfinite(observed)
        square = np.where(seen, (simulated.series - np.where(seen, observed, 0.0)) ** 2, 0.0)
        distance = np.sqrt(square.sum(axis=(1, 2)))
        distance = np.where(np.isnan(distance), np.inf, distance)
        order = np.argsort(np.where(there, distance, np.inf), kind="stable")
        best = np.zeros_like(there)
        best[order[:count]] = True
        return there & best
    return there


def warn_if_far(observed: np.ndarray, series: np.ndarray) -> None:
    """Warn where much of the observed series lies beyond everything that the prior produced."""
    low, high = np.nanmin(series, axis=(0, 1)), np.nanmax(series, axis=(0, 1))
    outside = float(((observed < low) | (observed > high)).any(axis=1).mean())
    if outside > OUTSIDE:
        warnings.warn(
            f"{outside:.0%} of the observed rows lie outside the range of all {len(series)} prior "
            f"simulations ({low.round(3).tolist()} to {high.round(3).tolist()}): the prior or the model "
            f"may not be able to produce these data. Widen the prior or check the units.",
            stacklevel=2,
        )
