"""The simulations of a sequential run: proposing, keeping and choosing them."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Array, Bool, Float, Key

from tsnl.kernel.examples import Simulated as Arrays
from tsnl.likelihood.completion import Completion
from tsnl.methods.sequential.options import Strategy
from tsnl.problem import Problem
from tsnl.sampling.spread import spread
from tsnl.simulation import Failure, Table
from tsnl.simulation.chunk import Chunk, Task
from tsnl.simulation.failures import FailureLog

CANDIDATES = 50  # prior draws for each one that is simulated: the even cover is picked from them
OUTSIDE = 0.2  # share of rows beyond all prior simulations that is worth a warning


@dataclass(frozen=True)
class Simulated:
    """All simulations of a run, in arrays of their final size, NaN where there is none yet.

    Attributes:
        z, series, inputs: unconstrained parameters, series and known inputs.
        round_: which round each is of.
        asked: rows that each was to have; fewer than T where it is of an earlier run.
        count: how many there are.
        cost: calls of the dynamics.
        log: those that failed.
        views: further series of the same paths of states, one block after the other.
        states: x_0..x_T of each, where the method asks for them.
    """

    z: Float[np.ndarray, "capacity size"]
    series: Float[np.ndarray, "capacity T d_y"]
    inputs: Float[np.ndarray, "capacity T d_u"]
    round_: np.ndarray
    asked: np.ndarray
    count: int = 0
    cost: int = 0
    log: FailureLog = field(default_factory=FailureLog)
    views: Float[np.ndarray, "further capacity T d_y"] | None = None
    states: Float[np.ndarray, "capacity times d_x"] | None = None

    @staticmethod
    def none(problem: Problem, capacity: int, num_views: int = 1) -> "Simulated":
        """Empty arrays: fixed shapes, so that what uses them is compiled once."""
        z = np.zeros((capacity, problem.prior.size))
        series = np.full((capacity, problem.length, problem.d_y), np.nan)
        inputs, rounds = problem.all_inputs(0, capacity), np.full(capacity, -1)
        views = np.full((num_views - 1, *series.shape), np.nan) if num_views > 1 else None
        asked = np.full(capacity, problem.length)
        return Simulated(z, series, inputs, rounds, asked, views=views)

    def added(
        self,
        z: Float[np.ndarray, "n size"],
        series: Float[np.ndarray, "n T d_y"],
        cost: int,
        failures: tuple[Failure, ...] = (),
        views: Float[np.ndarray, "n further T d_y"] | None = None,
        states: Float[np.ndarray, "n times d_x"] | None = None,
    ) -> "Simulated":
        """With a further round; a series is cut at its first value that is not finite."""
        part = slice(self.count, self.count + len(z))
        new = {name: getattr(self, name).copy() for name in ("z", "series", "round_")}
        new["z"][part], new["round_"][part] = z, self.round_.max() + 1
        new["series"][part] = _cut(series)
        if self.views is not None and views is not None:
            new["views"] = self.views.copy()
            new["views"][:, part] = _cut(np.swapaxes(views, 0, 1))
        if states is not None:
            shape = (len(self.z), *states.shape[1:])
            new["states"] = np.full(shape, np.nan) if self.states is None else self.states.copy()
            new["states"][part] = states
        log = self.log.added(failures, z, self.count)
        return replace(self, **new, count=self.count + len(z), cost=self.cost + cost, log=log)

    @property
    def there(self) -> Arrays:
        """What there is so far."""
        return Arrays(self.series[: self.count], self.inputs[: self.count], self.z[: self.count])

    @property
    def all(self) -> Arrays:
        """The arrays in their final size, with all views; just one where they are all the same."""
        if self.views is None or all(np.array_equal(x, self.series, equal_nan=True) for x in self.views):
            return Arrays(self.series, self.inputs, self.z)
        num_views = 1 + len(self.views)
        series = np.concatenate([self.series, *self.views])
        inputs, z = (np.tile(x, (num_views, *[1] * (x.ndim - 1))) for x in (self.inputs, self.z))
        return Arrays(series, inputs, z, num_views)

    def arrays(self) -> dict[str, np.ndarray]:
        """What there is, to be kept with a result and read by `of_arrays`."""
        part = slice(0, self.count)
        arrays = {
            "simulated.z": self.z[part].astype(np.float32),
            "simulated.series": self.series[part].astype(np.float32),
            "simulated.round": self.round_[part].astype(np.int32),
            "simulated.asked": self.asked[part].astype(np.int32),
            **self.log.arrays(),
        }
        if self.states is not None:
            arrays["simulated.states"] = self.states[part].astype(np.float32)
        return arrays

    @staticmethod
    def of_arrays(arrays: Mapping[str, np.ndarray], problem: Problem) -> "Simulated":
        """The simulations that a result kept."""
        names = ("z", "series", "round", "asked")
        z, series, round_, asked = (arrays[f"simulated.{name}"] for name in names)
        inputs, cost = problem.all_inputs(0, len(z)), int(asked.sum())
        log, states = FailureLog.of_arrays(arrays), arrays.get("simulated.states")
        return Simulated(
            z.astype(float), series.astype(float), inputs, round_, asked, len(z), cost, log,
            states=None if states is None else states.astype(float),
        )  # fmt: skip

    def grown(self, problem: Problem, capacity: int, num_views: int = 1) -> "Simulated":
        """The same simulations in arrays for another problem, cut or filled with NaN to its length."""
        made, n = Simulated.none(problem, capacity, num_views), self.count
        rows = min(problem.length, self.series.shape[1])
        made.z[:n], made.round_[:n] = self.z[:n], self.round_[:n]
        made.series[:n, :rows], made.inputs[:n, :rows] = self.series[:n, :rows], self.inputs[:n, :rows]
        made.asked[:n] = np.minimum(self.asked[:n], rows)
        states = None
        if self.states is not None:
            states = np.full((capacity, problem.length + 1, self.states.shape[2]), np.nan)
            states[:n, : rows + 1] = self.states[:n, : rows + 1]
        return replace(made, count=n, cost=self.cost, log=self.log, states=states)

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


def simulate_at(
    key: Key[Array, ""],
    problem: Problem,
    simulated: Simulated,
    z: Float[np.ndarray, "n size"],
    keep_states: bool = False,
) -> Simulated:
    """With a further round of simulations, at z."""
    num_views = 1 if simulated.views is None else 1 + len(simulated.views)
    theta = problem.prior.constrain_all(z)
    batch = problem.simulate(key, theta, simulated.count, num_views, keep_states)
    return simulated.added(z, batch.series, batch.cost, batch.failures, batch.views, batch.states)


def _cut(series: Float[np.ndarray, "*n T d_y"]) -> Float[np.ndarray, "*n T d_y"]:
    """NaN from the first row on that is not finite."""
    alive = np.logical_and.accumulate(np.isfinite(series).all(axis=-1), axis=-1)
    return np.where(alive[..., None], series, np.nan)


def take_table(problem: Problem, simulated: Simulated, table: Table) -> Simulated:
    """With all of a table, at no cost."""
    theta = {name: np.asarray(table.theta[name]) for name in problem.prior.names}
    chunk = Chunk.of(Task(0, theta), table.series, ())
    return simulated.added(problem.prior.unconstrain_all(theta), chunk.series, 0, chunk.failures)


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
