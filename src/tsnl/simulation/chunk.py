"""What goes to a worker, and what comes back: a few simulations at a time.

Nothing here imports JAX, so that a worker starts in a fraction of a second.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float


class Failure(NamedTuple):
    """A simulation that did not reach its end.

    Attributes:
        number: which simulation of the run.
        reason: what happened, in a few words.
    """

    number: int
    reason: str


@dataclass(frozen=True)
class Task:
    """Simulations to be run together.

    Attributes:
        first: number of the first of them in the run.
        theta: name to array (n, *event).
        inputs: the known inputs of each, or None.
    """

    first: int
    theta: dict[str, np.ndarray]
    inputs: Float[np.ndarray, "n T ..."] | None = None

    @property
    def count(self) -> int:
        """How many they are."""
        return len(next(iter(self.theta.values())))

    def part(self, start: int, stop: int) -> "Task":
        """Some of them."""
        inputs = None if self.inputs is None else self.inputs[start:stop]
        theta = {name: value[start:stop] for name, value in self.theta.items()}
        return Task(self.first + start, theta, inputs)

    def split(self, size: int) -> list["Task"]:
        """The same simulations, at most so many together."""
        return [self.part(start, min(start + size, self.count)) for start in range(0, self.count, size)]


@dataclass(frozen=True)
class Chunk:
    """Finished simulations.

    Attributes:
        first: number of the first of them in the run.
        theta: name to array (n, *event).
        series: one of each; a failed one is NaN from the row where it failed.
        failures: the failed ones.
        views: further series of the same paths of states, where some were asked for.
        states: x_0..x_T of each, where they were asked for.
    """

    first: int
    theta: dict[str, np.ndarray]
    series: Float[np.ndarray, "n T d_y"]
    failures: tuple[Failure, ...] = ()
    views: Float[np.ndarray, "n views T d_y"] | None = None
    states: Float[np.ndarray, "n times d_x"] | None = None

    @property
    def count(self) -> int:
        """How many they are."""
        return len(self.series)

    @staticmethod
    def of(
        task: Task,
        series: Float[np.ndarray, "n T d_y"],
        failures: Sequence[Failure],
        views: Float[np.ndarray, "n views T d_y"] | None = None,
        states: Float[np.ndarray, "n times d_x"] | None = None,
    ) -> "Chunk":
        """The series of a task, cut where they are not finite; that is a failure too."""
        alive = np.logical_and.accumulate(np.isfinite(series).all(axis=2), axis=1)
        known = {failure.number for failure in failures}
        found = list(failures)
        for i in np.flatnonzero(~alive[:, -1]).tolist():
            if task.first + i not in known:
                row = int(np.argmin(alive[i]))
                found.append(Failure(task.first + i, f"not finite from row {row + 1} on"))
        cut = series if alive.all() else np.where(alive[:, :, None], series, np.nan)
        return Chunk(task.first, task.theta, cut, tuple(sorted(found)), views, states)

    @staticmethod
    def lost(task: Task, length: int, num_columns: int, reason: str) -> "Chunk":
        """Nothing came of a task."""
        series = np.full((task.count, length, num_columns), np.nan)
        failures = [Failure(task.first + i, reason) for i in range(task.count)]
        return Chunk(task.first, task.theta, series, tuple(failures))

    @staticmethod
    def join(parts: Sequence["Chunk"]) -> "Chunk":
        """Chunks that follow each other, in any order, as one."""
        parts = sorted(parts, key=lambda part: part.first)
        views = [part.views for part in parts if part.views is not None]
        states = [part.states for part in parts if part.states is not None]
        return Chunk(
            parts[0].first,
            {name: np.concatenate([part.theta[name] for part in parts]) for name in parts[0].theta},
            np.concatenate([part.series for part in parts]),
            tuple(failure for part in parts for failure in part.failures),
            np.concatenate(views) if views else None,
            np.concatenate(states) if states else None,
        )


@runtime_checkable
class Store(Protocol):
    """Where finished chunks are kept, so that a run that was cut off need not make them again.

    The chunks of a run are the same at each start: their size depends neither on the number of workers
    nor on what is kept already.
    """

    def get(self, first: int, count: int) -> Chunk | None:
        """The chunk of simulations first..first + count - 1, or None where there is none."""
        ...

    def put(self, first: int, chunk: Chunk) -> None:
        """Keep a chunk; called once for each, as they finish, in any order."""
        ...
