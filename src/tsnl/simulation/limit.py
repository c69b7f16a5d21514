"""When so many simulations fail that going on makes no sense."""

import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from tsnl.runtime.reader import remedy
from tsnl.simulation.chunk import Chunk, Failure

LEAST = 20  # simulations before a run is judged
LEAST_AT_END = 5  # simulations before a finished batch is judged


class TooManyFailuresError(RuntimeError):
    """More simulations failed than `max_failures` allows."""


@dataclass
class Limit:
    """Counts failures in the order of the simulations, so that the verdict is the same for any workers.

    Attributes:
        share: of failed simulations that is too much when exceeded.
        first: number of the first simulation.
        count: how many there will be.
        waiting: chunks that finished before one with a lower number.
        done: the others.
        num_done: simulations in them.
        num_failed: failed ones among them.
    """

    share: float | int
    first: int
    count: int
    waiting: dict[int, Chunk] = field(default_factory=dict)
    done: list[Chunk] = field(default_factory=list)
    num_done: int = 0
    num_failed: int = 0

    def add(self, chunk: Chunk) -> None:
        """Count a finished chunk.

        Raises:
            TooManyFailuresError: it is one failure too many.
        """
        self.waiting[chunk.first] = chunk
        while self.first + self.num_done in self.waiting:
            next_ = self.waiting.pop(self.first + self.num_done)
            self.done.append(next_)
            self.num_done += next_.count
            self.num_failed += len(next_.failures)
            enough = self.num_done >= (LEAST_AT_END if self.num_done == self.count else LEAST)
            if enough and self.num_failed > self.share * self.num_done:
                raise TooManyFailuresError(self.message())

    def message(self) -> str:
        """What most failures were, where they lie, and what to do."""
        all_ = Chunk.join(self.done)
        reason, times = most_common(all_.failures)
        failed = np.isin(all_.first + np.arange(all_.count), [f.number for f in all_.failures])
        where = "; ".join(_where(name, value, failed) for name, value in all_.theta.items())
        return (
            f"{self.num_failed} of {self.num_done} simulations failed, more than the allowed "
            f"{self.share:.0%}. Most often ({times} times): {reason}. {where}. Mend the simulator, "
            f"narrow the prior to where it works, or raise max_failures{_where_to_raise()}."
        )


def _where_to_raise() -> str:
    return remedy(python="", command=" in the file: model = tsnl.BlackBox(simulate, max_failures=...)")


def most_common(failures: tuple[Failure, ...]) -> tuple[str, int]:
    """The most common kind of reason, by its first example, and how often; numbers do not matter."""
    kinds: dict[str, list[str]] = {}
    counts: Counter[str] = Counter()
    for failure in failures:
        kind = re.sub(r"[-+]?\d[\d.e+-]*", "#", failure.reason)
        kinds.setdefault(kind, []).append(failure.reason)
        counts[kind] += 1
    kind, times = counts.most_common(1)[0]
    return kinds[kind][0], times


def _where(name: str, value: np.ndarray, failed: np.ndarray) -> str:
    flat = value.reshape(len(value), -1)
    if flat.shape[1] > 1:
        return f"{name} has {flat.shape[1]} entries, not shown"
    text = f"They lie at {name} from {flat[failed].min():.3g} to {flat[failed].max():.3g}"
    if not failed.all():
        text += f", the others from {flat[~failed].min():.3g} to {flat[~failed].max():.3g}"
    return text
