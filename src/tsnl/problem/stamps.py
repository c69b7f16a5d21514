"""Times in whatever form people have them, as one array: dates to the microsecond, or plain numbers."""

import datetime
import re
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Shaped

from tsnl.problem.steps import DAY, Step, step_of

MONTH = re.compile(r"(\d{4})-(\d{2})")
QUARTER = re.compile(r"(\d{4})-?Q([1-4])")
COMPACT = re.compile(r"(1[6-9]|2[01])\d{6}")  # 20240131


class Stamps(NamedTuple):
    """When rows were, and by the clock of which zone."""

    values: Shaped[np.ndarray, " T"]
    zone: str = ""


def read_stamps(times: Any, step: Step | None = None) -> Stamps:
    """Times of any kind.

    Args:
        times: an index, column or list: dates, periods, text in the form of ISO 8601, durations, or
            numbers.
        step: that the rows are to have, where it is known.

    Raises:
        ValueError: a row without a time, or with a text that is none.
    """
    times = times.array if root(times) == "pandas" else times
    times = times.to_timestamp() if hasattr(times, "to_timestamp") else times  # periods
    if getattr(times, "tz", None) is not None:  # pandas
        wall, world = times.tz_localize(None), times.tz_convert("UTC").tz_localize(None)
        return _zoned(np.asarray(wall), np.asarray(world), str(times.tz), step)
    if getattr(getattr(times, "dtype", None), "time_zone", None) is not None:  # polars
        wall, world = times.dt.replace_time_zone(None), times.dt.convert_time_zone("UTC")
        world = world.dt.replace_time_zone(None)
        return _zoned(wall.to_numpy(), world.to_numpy(), times.dtype.time_zone, step)
    found = np.asarray(times)
    if found.dtype.kind in "OUT":
        return _of_objects(found.ravel().tolist(), step)
    return _checked(found, "")


def _checked(found: np.ndarray, zone: str) -> Stamps:
    """Times as an array has them: one for each row."""
    if found.dtype.kind == "m":
        found = found / np.timedelta64(1, "s")
    if found.dtype.kind not in "Miuf" or found.ndim != 1:
        raise ValueError(f"The times are of kind {found.dtype}, expected dates or numbers, one a row.")
    found = found.astype("datetime64[us]" if found.dtype.kind == "M" else np.float64)
    missing = np.isnat(found) if found.dtype.kind == "M" else ~np.isfinite(found)
    if missing.any():
        row = int(np.argmax(missing)) + 1
        raise ValueError(f"Row {row} of the series, counted from 1, has no time: give every row one.")
    return Stamps(found, zone)


def _zoned(wall: np.ndarray, world: np.ndarray, zone: str, step: Step | None) -> Stamps:
    """By the clock on the wall, where that goes on evenly; by that of the world where summer begins."""
    here, there = _checked(wall, zone), _checked(world, "UTC")
    if len(np.unique(here.values - there.values)) == 1:
        return here
    if step is not None:
        return there if step.unit == "us" and step.count < DAY else here
    uneven = (np.diff(here.values) <= np.timedelta64(0)).any() or step_of(here.values) is None
    return there if uneven and step_of(there.values) is not None else here


def _of_objects(values: list[Any], step: Step | None) -> Stamps:
    """Dates and times of Python, or texts."""
    if values and all(_is_number(value) for value in values):
        return _checked(np.array(values, dtype=np.float64), "")
    found = [_moment(value, row) for row, value in enumerate(values, 1)]
    wall = [None if one is None else one.replace(tzinfo=None) for one in found]
    zones = [one.tzinfo for one in found if one is not None and one.tzinfo is not None]
    here = np.array(wall, dtype="datetime64[us]")
    if not zones:
        return _checked(here, "")
    if len(zones) < len(found):
        raise ValueError("Some times have a zone and others none: give it with all of them.")
    world = [one.astimezone(datetime.UTC).replace(tzinfo=None) for one in found if one is not None]
    return _zoned(here, np.array(world, dtype="datetime64[us]"), str(zones[0]), step)


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        value = value.strip()
        return not COMPACT.fullmatch(value) and _float(value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _moment(value: Any, row: int) -> datetime.datetime | None:
    """One time, None where it is missing.

    Raises:
        ValueError: a text in some other form.
    """
    if value is None or value != value or (isinstance(value, str) and not value.strip()):
        return None
    value = value.to_timestamp() if hasattr(value, "to_timestamp") else value  # a period
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[us]").item()
    if isinstance(value, datetime.datetime):
        return value
    if isinstance(value, datetime.date):
        return datetime.datetime(value.year, value.month, value.day)
    try:
        return of_text(str(value))
    except ValueError as error:
        raise ValueError(f"Row {row} of the series, counted from 1: {error}") from error


def of_text(text: str) -> datetime.datetime:
    """A date in the form of ISO 8601, a month such as 2024-01, or a quarter such as 2024Q1.

    Raises:
        ValueError: it is something else, such as 1/2/24, which may be January or February.
    """
    text = text.strip()
    if found := MONTH.fullmatch(text):
        return datetime.datetime(int(found[1]), int(found[2]), 1)
    if found := QUARTER.fullmatch(text):
        return datetime.datetime(int(found[1]), 3 * int(found[2]) - 2, 1)
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(
            f"{text!r} is no time: write dates as 2024-01-31 or 2024-01-31 12:30, months as 2024-01, "
            f"quarters as 2024Q1, or give numbers."
        ) from error


def root(value: Any) -> str:
    """The package that a value, or a class that it inherits from, comes from: pandas, polars, xarray."""
    found = {kind.__module__.partition(".")[0] for kind in type(value).__mro__}
    return next((name for name in ("pandas", "polars", "xarray") if name in found), "")
