"""How a CSV file is written, and what was read from it."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from tsnl.problem.frames import proper
from tsnl.problem.series import Series
from tsnl.problem.times import Times


class NoColumnError(ValueError):
    """A column that is asked for is not there."""


@dataclass(frozen=True)
class Form:
    """How a CSV file is written, where its own lines do not tell.

    Attributes:
        decimal: "." or ","; None takes a comma where cells are separated by something else.
        encoding: of the text, such as "latin-1"; None for UTF-8, and UTF-16 with its mark.
        header: whether the first line names the columns; None looks whether it has cells that are no
            numbers.
        time: the column that says when the rows were; None where none does.
        every: the step of the rows, where some are left out; None where none is.
    """

    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    time: str | None = None
    every: str | None = None

    def __post_init__(self) -> None:
        if self.every is not None and self.time is None:
            raise ValueError("--every is the step of times: give the column that has them with --time.")
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"decimal is {self.decimal!r}, expected '.' or ','.")

    @property
    def of_inputs(self) -> "Form":
        """That of a second file, which may have another first line."""
        return replace(self, header=None)

    @property
    def untimed(self) -> "Form":
        """The same without times."""
        return replace(self, time=None, every=None)

    def stepping(self, times: Times | None) -> "Form":
        """The same with the step of times that are known, where the file has times and no other step."""
        known = times is not None and self.time is not None and self.every is None
        return replace(self, every=str(times.step)) if known and times is not None else self


@dataclass(frozen=True)
class Data:
    """Rows of numbers, NaN where missing, the names of their columns, and when they were."""

    names: tuple[str, ...]
    rows: Float[np.ndarray, "T d_y"]
    times: Times | None = None

    @property
    def series(self) -> Series:
        """As `tsnl.infer` takes it."""
        labels = proper(f"column {name}" if name.isdecimal() else name for name in self.names)
        return Series(self.rows, labels, self.times)


class Line(NamedTuple):
    """A line that counts: its number in the file, and its cells."""

    number: int
    cells: list[str]
