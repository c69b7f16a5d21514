"""Tasks to an executor, chunks back as they finish, whatever happens to the workers."""

from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from tsnl.simulation.blackbox import HostSimulator
from tsnl.simulation.chunk import Chunk, Task
from tsnl.simulation.pool import Processes
from tsnl.simulation.worker import run_task

DIED = "died with its worker process"


def finished(
    simulator: HostSimulator,
    entropy: tuple[int, ...],
    tasks: Sequence[Task],
    length: int,
    num_columns: int | None,
) -> Generator[Chunk, None, None]:
    """The chunk of each task, as they finish, in any order.

    A task whose worker died is sent again, then its simulations one by one: one that dies again is a
    failure.

    Raises:
        RuntimeError: the executor takes no more work.
    """
    run = partial(run_task, replace(simulator, executor=None), entropy, length, num_columns)
    if simulator.executor is None:
        yield from map(run, tasks)
        return
    executor = simulator.executor
    width = 2 * executor.workers if isinstance(executor, Processes) else simulator.in_flight
    flight = _Flight(executor, run, width, deque(tasks), len(tasks))
    try:
        while flight.waiting or flight.running or flight.fault:
            yield from flight.step(length, num_columns or 1)
    finally:
        for future in flight.running:
            future.cancel()


@dataclass
class _Flight:
    """What is out, what waits, and what came back in pieces."""

    executor: Executor
    run: Any
    width: int
    waiting: deque[Task]
    total: int
    running: dict[Future, Task] = field(default_factory=dict)
    deaths: dict[int, int] = field(default_factory=dict)  # by number of the first simulation
    homes: dict[int, Task] = field(default_factory=dict)  # the split task that a simulation is from
    pieces: dict[int, list[Chunk]] = field(default_factory=dict)  # by number of their home
    fault: Exception | None = None

    def step(self, length: int, num_columns: int) -> list[Chunk]:
        """Send as much as may be out, wait for something to come back."""
        if self.fault is not None:
            raise self.fault
        refused = self.send()
        if refused is not None and not self.running:
            left = sum(task.first not in self.homes for task in self.waiting)
            raise RuntimeError(
                f"The executor takes no more work ({type(refused).__name__}: {refused}), with {left} of "
                f"{self.total} chunks of simulations to go. Keep it open while it is needed; "
                f"tsnl.simulation.Processes starts workers that died anew."
            ) from refused
        done, _ = wait(self.running, return_when=FIRST_COMPLETED)
        found = []
        for future in sorted(done, key=lambda one: self.running[one].first):
            task = self.running.pop(future)
            try:
                chunk: Chunk | None = future.result()
            except Exception as error:
                chunk = None
                if _worker_died(error):
                    chunk = self.again(task, length, num_columns)
                else:
                    self.fault = error  # to be raised once what else came back is with the caller
            whole = None if chunk is None else self.whole(chunk)
            found += [] if whole is None else [whole]
        self.send()  # before anybody looks at what came back: the workers need not wait for that
        return found

    def send(self) -> Exception | None:
        """Keep the executor busy; why it takes no more, where it does not."""
        while self.waiting and len(self.running) < self.width:
            try:
                future = self.executor.submit(self.run, self.waiting[0])
            except RuntimeError as error:  # which a broken executor is too
                return error
            self.running[future] = self.waiting.popleft()
        return None

    def again(self, task: Task, length: int, num_columns: int) -> Chunk | None:
        """A worker died: try again, then one by one, then give up."""
        deaths = self.deaths[task.first] = self.deaths.get(task.first, 0) + 1
        alone = task.first in self.homes
        if alone or (deaths > 1 and task.count == 1):
            return Chunk.lost(task, length, num_columns, DIED)
        if deaths == 1:
            self.waiting.appendleft(task)
            return None
        singles = task.split(1)
        self.homes |= {single.first: task for single in singles}
        self.waiting.extendleft(reversed(singles))
        return None

    def whole(self, chunk: Chunk) -> Chunk | None:
        """The chunk, or the one that it completes, or None while that is not complete."""
        home = self.homes.get(chunk.first)
        if home is None:
            return chunk
        pieces = self.pieces.setdefault(home.first, [])
        pieces.append(chunk)
        return Chunk.join(pieces) if len(pieces) == home.count else None


def _worker_died(error: BaseException) -> bool:
    """Whether the worker is to blame; `KilledWorker` is Dask's word for it."""
    return isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"
