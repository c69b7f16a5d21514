"""Rows in the order of time: equally spaced as they are, or put on a grid with missing rows between."""

import numpy as np
from jaxtyping import Float, Shaped

from tsnl.problem.stamps import Stamps
from tsnl.problem.steps import Step, first_gap
from tsnl.problem.times import Times, written
from tsnl.runtime.reader import remedy

MOST_ROWS = 10_000_000  # of a grid

Rows = Float[np.ndarray, "_ d_y"]


def in_time(rows: Rows, stamps: Stamps, step: Step | None) -> tuple[Rows, Times | None]:
    """Rows one step apart, and when they are; None for a single row, whose step nobody knows.

    Args:
        rows: as they came.
        stamps: when each was.
        step: of the grid to put them on; None where they must be equally spaced as they are.

    Raises:
        ValueError: the first row that is not in its place, counted from 1, and the remedy.
    """
    _check_apart(stamps.values)
    if step is not None:
        return _on_grid(rows, stamps, step)
    if len(rows) < 2:
        return rows, None
    found = stamps.values
    back = found[1:] < found[:-1]
    if back.any():
        row = int(np.argmax(back)) + 1
        raise ValueError(
            f"{_row(row, found)} is earlier than row {_at(row - 1, found)}: sort the rows by their "
            f"times, or let {_every(_usual(found))} put them in their places."
        )
    times = Times.of(found, zone=stamps.zone)
    if times is None:
        row, usual = first_gap(found)
        raise ValueError(
            f"{_row(row, found)} does not follow row {_at(row - 1, found)} by the step of {usual}: "
            f"rows must be equally spaced. Put missing ones (NaN) between them with {_every(usual)}; "
            f"or, if the model's steps are the rows as they are, {_without_times()}."
        )
    return rows, times


def _on_grid(rows: Rows, stamps: Stamps, step: Step) -> tuple[Rows, Times]:
    times = Times.of(stamps.values, step, stamps.zone)
    assert times is not None
    off = ~times.hit(stamps.values)
    if off.any():
        where = _row(int(np.argmax(off)), stamps.values)
        raise ValueError(
            f"{where} lies between two steps of {step} from {times.text([0])[0]} on: round its time "
            f"first, or choose another {remedy(python='every=', command='--every')}."
        )
    places = times.rows(stamps.values)
    length = int(places.max()) + 1
    if length > MOST_ROWS:
        raise ValueError(
            f"Steps of {step} from {times.text([0])[0]} on make {length:,} rows for {len(rows):,} that "
            f"are there: choose a longer {remedy(python='every=', command='--every')}."
        )
    grid = np.full((length, rows.shape[1]), np.nan)
    grid[places] = rows
    return grid, times


def _check_apart(stamps: Shaped[np.ndarray, " T"]) -> None:
    """Refuse a time that is there twice."""
    order = np.argsort(stamps, kind="stable")
    again = order[1:][stamps[order][1:] == stamps[order][:-1]]
    if len(again):
        row = int(again.min())
        earlier = int(np.argmax(stamps == stamps[row])) + 1
        raise ValueError(
            f"{_row(row, stamps)} has the time of row {earlier} again: keep one row for each "
            f"time, or take their mean first; {_every(None)} fills gaps, and cannot choose between rows."
        )


def _usual(stamps: Shaped[np.ndarray, " T"]) -> Step | None:
    """The step that rows would have if they were in order."""
    found = np.sort(stamps)
    times = Times.of(found)
    return first_gap(found)[1] if times is None else times.step


def _row(row: int, stamps: Shaped[np.ndarray, " T"]) -> str:
    return f"Row {row + 1} of the series, counted from 1 ({written(stamps[[row]])[0]}),"


def _at(row: int, stamps: Shaped[np.ndarray, " T"]) -> str:
    return f"{row + 1} ({written(stamps[[row]])[0]})"


def _every(step: Step | None) -> str:
    shown = "..." if step is None else repr(str(step))
    return remedy(python=f"as_series(..., every={shown})", command=f"--every {step or 'STEP'!s}")


def _without_times() -> str:
    return remedy(
        python="give the numbers without times", command="leave --time out and choose --columns"
    )
