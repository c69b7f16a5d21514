"""The step from one row to the next: by the clock, in months, in business days, in numbers."""

import datetime
import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Int, Shaped

Unit = Literal["us", "B", "M", ""]  # microseconds, business days, months, plain numbers
SECOND = 1_000_000
CLOCK = {"us": 1, "ms": 1000, "s": SECOND, "min": 60 * SECOND, "h": 3600 * SECOND, "D": 86400 * SECOND}
DAY = CLOCK["D"]
MONTHS = {"M": 1, "Q": 3, "Y": 12}
NAMES = {  # as people write them, those of pandas and polars among them
    **{"t": "min", "hour": "h", "hours": "h", "d": "D", "day": "D", "days": "D", "w": "W", "week": "W"},
    **{"b": "B", "mo": "M", "ms": "ms", "month": "M", "q": "Q", "y": "Y", "a": "Y", "year": "Y"},
    **{"second": "s", "minute": "min", "quarter": "Q", "h": "h", "s": "s", "min": "min", "us": "us"},
}
CALENDAR = {"M": "M", "MS": "M", "ME": "M", "QS": "Q", "QE": "Q", "YS": "Y", "YE": "Y"}
WRITTEN = "1D, 7D, 1h, 15min, B (business days), M, Q or Y"


@dataclass(frozen=True)
class Step:
    """From one row to the next.

    Attributes:
        count: how many units.
        unit: "us" for microseconds, "M" for months, "B" for business days, "" for plain numbers.
    """

    count: int | float
    unit: Unit

    def __post_init__(self) -> None:
        if not (np.isfinite(self.count) and self.count > 0):
            raise ValueError(f"every is {self.count!r}, expected a step above zero.")

    def __str__(self) -> str:
        """As `Step.of` reads it."""
        if self.unit == "":
            return f"{self.count:.15g}"
        if self.unit != "us":
            return f"{self.count}{self.unit}"
        name, size = next((n, s) for n, s in reversed(CLOCK.items()) if self.count % s == 0)
        return f"{self.count // size:.0f}{name}"

    @staticmethod
    def of(every: Any) -> "Step":
        """Read a step: text such as "1D", a timedelta, or a number where times are numbers.

        Raises:
            ValueError: it is none.
        """
        if isinstance(every, Step):
            return every
        if isinstance(every, datetime.timedelta | np.timedelta64):
            return Step(int(np.timedelta64(every, "us").astype(np.int64)), "us")
        if isinstance(every, int | float) and not isinstance(every, bool):
            return Step(every, "")
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)?\s*([A-Za-z]*?)(?:-[A-Z]+)?\s*", str(every))
        count, name = found.groups() if found else (None, None)
        unit = CALENDAR.get(name or "", NAMES.get((name or "").lower()))
        if found is None or (name and unit is None) or (name == "" and count is None) or name == "m":
            raise ValueError(f"every is {every!r}, expected a step such as {WRITTEN}.")
        number = float(count or 1)
        if not name:
            return Step(int(number) if number.is_integer() else number, "")
        assert unit is not None
        size = {**CLOCK, "W": 7 * DAY, "B": 1, **MONTHS}[unit]
        if not (number * size).is_integer():
            raise ValueError(f"every is {every!r}, expected a whole number of {unit}.")
        return Step(int(number * size), "M" if unit in MONTHS else "B" if unit == "B" else "us")


def places(stamps: Shaped[np.ndarray, " T"], unit: Unit) -> Shaped[np.ndarray, " T"] | None:
    """Where times lie, in units from the first of them; None where they do not lie on that ruler.

    Months are a ruler for times on the same day of each month, or on the last; business days for times
    from Monday to Friday. The time of day must then be the same.
    """
    if unit == "":
        return stamps - stamps[0]
    if unit == "us":
        return (stamps - stamps[0]).astype(np.int64)
    days = stamps.astype("datetime64[D]")
    if len(np.unique(stamps - days)) > 1:
        return None
    if unit == "B":
        return np.busday_count(days[0], days) if np.is_busday(days).all() else None
    months = days.astype("datetime64[M]")
    if not (is_month_end(days).all() or _same_day(days)):
        return None
    return (months - months[0]).astype(np.int64)


def is_month_end(days: Shaped[np.ndarray, " T"]) -> Shaped[np.ndarray, " T"]:
    """Whether days are the last of their months."""
    return (days + 1).astype("datetime64[M]") != days.astype("datetime64[M]")


def day_of_month(days: Shaped[np.ndarray, " T"]) -> Int[np.ndarray, " T"]:
    """1 to 31."""
    return (days - days.astype("datetime64[M]")).astype(np.int64) + 1


def _same_day(days: Shaped[np.ndarray, " T"]) -> bool:
    """Whether all are on one day of the month, or on the last of those that do not have it."""
    number = day_of_month(days)
    return bool(((number == number.max()) | (is_month_end(days) & (number < number.max()))).all())


def step_of(stamps: Shaped[np.ndarray, " T"]) -> Step | None:
    """The one step between times in order, None where they are not equally spaced."""
    units: tuple[Unit, ...] = ("M", "us", "B") if stamps.dtype.kind == "M" else ("",)
    for unit in units:  # months first: of three years without a 29 February the days are alike too
        found = places(stamps, unit)
        if found is None:
            continue
        steps = np.diff(found)
        if steps.min() > 0 and _alike(steps):
            return Step(steps.mean().item() if unit == "" else steps[0].item(), unit)
    return None


def first_gap(stamps: Shaped[np.ndarray, " T"]) -> tuple[int, Step]:
    """The row, from 0, that does not follow the one before it by the usual step; and that step.

    Times are in order, none twice, and not equally spaced. The usual step is the shortest, or the median
    where the others are no multiples of it.
    """
    unit = _usual_ruler(stamps)
    found = places(stamps, unit)
    assert found is not None
    steps = np.diff(found)
    usual = steps.min() if _whole(steps) else np.median(steps)
    odd = ~np.isclose(steps, usual, rtol=1e-6, atol=0.0)
    return int(np.argmax(odd)) + 1, Step(usual.item() if unit == "" else int(usual), unit)


def _usual_ruler(stamps: Shaped[np.ndarray, " T"]) -> Unit:
    if stamps.dtype.kind != "M":
        return ""
    months = places(stamps, "M")
    if months is not None and np.diff(months).min() > 0:
        return "M"
    business, days = places(stamps, "B"), (stamps[-1] - stamps[0]) // np.timedelta64(1, "D")
    daily = np.diff(stamps).min() == np.timedelta64(1, "D")
    weekends = business is not None and business[-1] < days  # without rows, so no gaps
    return "B" if daily and weekends else "us"


def _whole(steps: Shaped[np.ndarray, " n"]) -> bool:
    """Whether all are multiples of the shortest."""
    ratio = steps / steps.min()
    return bool(np.isclose(ratio, np.round(ratio), rtol=1e-6).all())


def _alike(steps: Shaped[np.ndarray, " n"]) -> bool:
    return bool(np.isclose(steps, steps.min(), rtol=1e-6, atol=0.0).all())
