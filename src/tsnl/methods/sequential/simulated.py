"""The simulations of a sequential run: proposing, keeping and choosing them."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Array, Bool, Float, Key

from tsnl.likelihood.completion import Completion
from tsnl.problem import Problem
from tsnl.sampling.spread import spread
from tsnl.simulation import Failure, Table
from tsnl.simulation.chunk import Chunk, Task
from tsnl.simulation.failures import FailureLog

Strategy = Literal["all", "last", "best"]
CANDIDATES = 50  # prior draws for each one that is simulated: the even cover is picked from them
OUTSIDE = 0.2  # share of rows beyond all prior simulations that is worth a warning


@dataclass
class Simulated:
    """All simulations of a run, in arrays of their final size, NaN where there is none yet.

    Attributes:
        asked: rows that each simulation was to have; fewer than T where it is of an earlier run.
    """

    z: Float[np.ndarray, "capacity size"]
    series: Float[np.ndarray, "capacity T d_y"]
    inputs: Float[np.ndarray, "capacity T d_u"]
    round_: np.ndarray
    asked: np.ndarray
    count: int = 0
    cost: int = 0
    log: FailureLog = field(default_factory=FailureLog)

    @staticmethod
    def none(problem: Problem, capacity: int) -> "Simulated":
        """Empty arrays: fixed shapes, so that what uses them is compiled once."""
        z = np.zeros((capacity, problem.prior.size))
        series = np.full((capacity, problem.length, problem.d_y), np.nan)
        inputs, rounds = problem.all_inputs(0, capacity), np.full(capacity, -1)
        return Simulated(z, series, inputs, rounds, np.full(capacity, problem.length))

    def add(
        self,
        z: np.ndarray,
        series: np.ndarray,
        cost: int,
        round_: int,
        failures: tuple[Failure, ...] = (),
    ) -> None:
        """Append a batch; a series is cut at its first value that is not finite."""
        self.log.add(failures, z, self.count)
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
            "simulated.asked": self.asked[part].astype(np.int32),
            **self.log.arrays(),
        }

    @staticmethod
    def of_arrays(arrays: Mapping[str, np.ndarray], problem: Problem) -> "Simulated":
        """The simulations that a result kept."""
        names = ("z", "series", "round", "asked")
        z, series, round_, asked = (arrays[f"simulated.{name}"] for name in names)
        inputs, cost = problem.all_inputs(0, len(z)), int(asked.sum())
        log = FailureLog.of_arrays(arrays)
        return Simulated(z.astype(float), series.astype(float), inputs, round_, asked, len(z), cost, log)

    def grown(self, problem: Problem, capacity: int) -> "Simulated":
        """The same simulations in arrays for another problem, cut or filled with NaN to its length."""
        made = Simulated.none(problem, capacity)
        rows = min(problem.length, self.series.shape[1])
        for name in ("z", "round_"):
            getattr(made, name)[: self.count] = getattr(self, name)[: self.count]
        for name in ("series", "inputs"):
            getattr(made, name)[: self.count, :rows] = getattr(self, name)[: self.count, :rows]
        made.asked[: self.count] = np.minimum(self.asked[: self.count], rows)
        made.count, made.cost, made.log = self.count, self.cost, self.log
        return made

    @property
    def num_failed(self) -> int:
        """Series that did not reach their end."""
        return int((~self.complete()).sum())

    def complete(self) -> Bool[np.ndarray, " count"]:
        """Which series reached their end."""
        n = np.arange(self.count)
        return np.isfinite(self.series[n, self.asked[: self.count] - 1, 0])

    def completion(self) -> Completion | None:
        """The probability of not failing, learned from all simulations; None where none failed."""
        return Completion.of(self.z[: self.count], self.complete())


def propose(
    key: Key[Array, ""],
    rng: np.random.Generator,
    problem: Problem,
    draws: Float[np.ndarray, "chain draw size"] | None,
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
        cloud = draws.reshape(-1, draws.shape[-1])
        stretch = np.clip(limit / (cloud.std(axis=0) + 1e-12), 1.0, widen)
        cloud = cloud.mean(axis=0) + stretch * (cloud - cloud.mean(axis=0))
    return spread(rng, cloud, n)


def add_simulations(
    key: Key[Array, ""], problem: Problem, simulated: Simulated, z: np.ndarray, round_: int
) -> None:
    """Simulate at z and keep what came of it."""
    theta = problem.prior.constrain_all(z)
    batch = problem.simulate(key, theta, simulated.count)
    simulated.add(z, batch.series, batch.cost, round_, batch.failures)


def add_table(problem: Problem, simulated: Simulated, table: Table) -> None:
    """Keep all of a table, at no cost."""
    theta = {name: np.asarray(table.theta[name]) for name in problem.prior.names}
    chunk = Chunk.of(Task(0, theta), table.series, ())
    simulated.add(problem.prior.unconstrain_all(theta), chunk.series, 0, 0, chunk.failures)


def choose(
    strategy: Strategy, simulated: Simulated, problem: Problem, count: int
) -> Bool[np.ndarray, " capacity"]:
    """Which series to learn from: all, the last round's, or the `count` closest to an observed one."""
    there = np.isfinite(simulated.series[:, 0, 0])
    if strategy == "last":
        return there & (simulated.round_ == simulated.round_.max())
    if strategy == "best":
        distance = np.min([_distance(simulated.series, one) for one in problem.panel], axis=0)
        order = np.argsort(np.where(there, distance, np.inf), kind="stable")
        best = np.zeros_like(there)
        best[order[:count]] = True
        return there & best
    return there


def _distance(
    series: Float[np.ndarray, "N T d_y"], observed: Float[np.ndarray, "t d_y"]
) -> Float[np.ndarray, " N"]:
    """Root mean square over what was observed; infinity of a series that failed."""
    seen = np.isfinite(observed)
    square = (series[:, : len(observed)] - np.where(seen, observed, 0.0)) ** 2
    distance = np.sqrt(np.where(seen, square, 0.0).sum(axis=(1, 2)) / seen.sum())
    return np.where(np.isnan(distance), np.inf, distance)


def warn_if_far(observed: Float[np.ndarray, "rows d_y"], series: Float[np.ndarray, "N T d_y"]) -> None:
    """Warn where many of the observed rows lie beyond everything that the prior produced."""
    low, high = np.nanmin(series, axis=(0, 1)), np.nanmax(series, axis=(0, 1))
    outside = float(((observed < low) | (observed > high)).any(axis=1).mean())
    if outside > OUTSIDE:
        warnings.warn(
            f"{outside:.0%} of the observed rows lie outside the range of all {len(series)} prior "
            f"simulations ({low.round(3).tolist()} to {high.round(3).tolist()}): the prior or the model "
            f"may not be able to produce these data. Widen the prior or check the units.",
            stacklevel=2,
        )
