"""What an experiment is made of: trials, each of which gives one flat row."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

Row = dict[str, Any]  # a column's name to its value; text where it was read from a table

COMMON = (
    "id",
    "problem",
    "method",
    "budget",
    "setting",
    "seed",
    "cost",
    "kde",
    "min",
    "bias",
    "sd",
    "rmse",
    "distance",
    "distance_kind",
    "seconds",
    "trial_seconds",
    "cpu_seconds",
    "version",
    "status",
    "reason",
)


@dataclass(frozen=True)
class Trial:
    """One run of one method on one series.

    Attributes:
        problem: its name among `paper.problems.PROBLEMS`.
        method: what is called so in figures.
        budget: what the method may use, most often calls of the dynamics.
        seed: of the observed series and of the method; methods of one seed see the same series.
        setting: what else tells it from the others.
        quick: whether everything is shrunk, to see that it works.
    """

    problem: str
    method: str
    budget: int
    seed: int
    setting: str = ""
    quick: bool = False

    @property
    def id(self) -> str:
        """A name that stays the same from run to run."""
        parts = (self.problem, self.method, str(self.budget), self.setting, str(self.seed))
        return "/".join(part for part in parts if part) + ("/quick" if self.quick else "")


@runtime_checkable
class Experiment(Protocol):
    """An experiment of the paper."""

    @property
    def name(self) -> str:
        """What `reproduce` calls it."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of its table beside the common ones."""

    def trials(self, count: int | None, quick: bool) -> list[Trial]:
        """All trials in the order to run them, `count` seeds of each; its own number where None."""

    def run(self, trial: Trial, references: Path) -> Row:
        """What one trial gives, beside what the trial says of itself."""

    def draw(self, rows: list[Row]) -> Any:
        """The figure, from the rows of finished trials alone."""
