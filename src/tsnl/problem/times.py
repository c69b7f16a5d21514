"""When the rows of a series were: a first time and a step, so that a forecast goes on with them."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int, Shaped

from tsnl.problem.steps import Step, day_of_month, is_month_end, step_of


@dataclass(frozen=True)
class Times:
    """Equally spaced times, by the clock or by the calendar, or plain numbers such as years.

    Attributes:
        first: of the first row, to the microsecond where it is a date.
        step: from one row to the next.
        zone: of the clock, empty where nobody said.
        day: of the month, where the step is of months; the last where a month has none of that number.
    """

    first: np.datetime64 | float
    step: Step
    zone: str = ""
    day: int = 0

    def __post_init__(self) -> None:
        if self.dated == (self.step.unit == ""):
            kinds = ("dates", "a number") if self.dated else ("numbers", "a step of dates")
            raise ValueError(f"The times are {kinds[0]} and every is {self.step}, {kinds[1]}.")

    @staticmethod
    def of(stamps: Shaped[np.ndarray, " T"], step: Step | None = None, zone: str = "") -> "Times | None":
        """From times in order, or, with a step, in any; None where they are not equally spaced."""
        step = step_of(stamps) if step is None else step
        if step is None:
            return None
        days = stamps.astype("datetime64[D]") if step.unit == "M" and stamps.dtype.kind == "M" else None
        day = 0 if days is None else 31 if is_month_end(days).all() else int(day_of_month(days).max())
        first = stamps.min()
        return Times(first if stamps.dtype.kind == "M" else float(first), step, zone, day)

    @property
    def dated(self) -> bool:
        """Whether they are dates, not plain numbers."""
        return isinstance(self.first, np.datetime64)

    def at(self, rows: Any) -> Shaped[np.ndarray, " n"]:
        """The times of rows, counted from 0, also of those after the last."""
        steps: Any = np.asarray(rows) * self.step.count
        first: Any = self.first
        if self.step.unit in ("us", ""):
            return first + (steps.astype("timedelta64[us]") if self.dated else steps)
        day = np.datetime64(first, "D")
        clock = np.datetime64(first, "us") - day
        if self.step.unit == "B":
            return np.busday_offset(day, steps, roll="forward") + clock
        months = np.datetime64(first, "M") + steps
        length = ((months + 1).astype("datetime64[D]") - months.astype("datetime64[D]")).astype(int)
        return months.astype("datetime64[D]") + np.minimum(self.day, length) - 1 + clock

    def rows(self, stamps: Shaped[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """The row nearest below each time, counted from 0; whether it is there, `at` tells."""
        first: Any = self.first
        found: Any
        if self.step.unit == "":
            found = np.round((stamps - first) / self.step.count)
        elif self.step.unit == "us":
            found = (stamps - first).astype("timedelta64[us]").astype(np.int64) // self.step.count
        elif self.step.unit == "B":
            day = np.datetime64(first, "D")
            found = np.busday_count(day, stamps.astype("datetime64[D]")) // self.step.count
        else:
            months = stamps.astype("datetime64[M]") - np.datetime64(first, "M")
            found = months.astype(np.int64) // self.step.count
        return np.asarray(found, dtype=np.int64)

    def hit(self, stamps: Shaped[np.ndarray, " n"]) -> Shaped[np.ndarray, " n"]:
        """Whether there is a row at each of some times."""
        there = self.at(self.rows(stamps))
        return there == stamps if self.dated else np.isclose(there, stamps, atol=1e-6 * self.step.count)

    def row_of(self, other: "Times") -> int | None:
        """The row, counted from 0, at which other times begin; None where there is none."""
        if self.dated != other.dated:
            return None
        first = other.at([0])
        return int(self.rows(first)[0]) if self.hit(first)[0] else None

    def text(self, rows: Any) -> list[str]:
        """The times of rows, counted from 0, for people: dates without a time of day where none has."""
        return written(self.at(rows))

    def span(self, length: int) -> str:
        """From when to when so many rows are, and how far apart."""
        first, last = self.text([0, length - 1])
        zone = f" ({self.zone})" if self.zone else ""
        return f"{first} to {last}{zone}, every {self.step}"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        kept = (str(self.first), str(self.step)) if self.dated else (self.first, self.step.count)
        return {"first": kept[0], "step": kept[1], "zone": self.zone, "day": self.day}

    @staticmethod
    def from_json(facts: dict[str, Any]) -> "Times":
        """Read what `to_json` wrote.

        Raises:
            ValueError, TypeError, KeyError: it is something else.
        """
        first, step = facts["first"], Step.of(facts["step"])
        known = np.datetime64(first, "us") if isinstance(first, str) else float(first)
        return Times(known, step, str(facts["zone"]), int(facts["day"]))


def times_to_text(times: Times | None) -> str:
    """Times as one text of JSON, empty where there are none."""
    return "" if times is None else json.dumps(times.to_json())


def times_of_text(text: str) -> Times | None:
    """The other way."""
    return Times.from_json(json.loads(text)) if text else None


def written(stamps: Shaped[np.ndarray, " n"]) -> list[str]:
    """Times for people."""
    if stamps.dtype.kind != "M":
        return [f"{value:.10g}" for value in stamps]
    for unit in ("D", "m", "s"):
        if (stamps == stamps.astype(f"datetime64[{unit}]")).all():
            return [one.replace("T", " ") for one in np.datetime_as_string(stamps, unit=unit).tolist()]
    return [one.replace("T", " ") for one in np.datetime_as_string(stamps).tolist()]
