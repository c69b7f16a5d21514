"""Rows of CSV files in time: those of a series, and those that follow the series of a run."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import typer
from jaxtyping import Float

from tsnl.cli.form import Data, Line
from tsnl.problem import Problem
from tsnl.problem.series import as_series
from tsnl.problem.stamps import of_text
from tsnl.problem.times import Times


def in_time(path: str | Path, data: Data, lines: list[Line], column: int, every: str | None) -> Data:
    """Rows in the order of the times that a column has, equally spaced or put on a grid.

    Raises:
        ValueError: a line without a time, or a row that is not in its place.
    """
    cells = [line.cells[column] if line.cells else "" for line in lines]
    for line, cell in zip(lines, cells, strict=True):
        if not cell:
            raise ValueError(f"{path}, line {line.number}: the row has no time; give it one.")
        if not (_is_number(cell) or is_date(cell)):
            raise ValueError(
                f"{path}, line {line.number}: {cell!r} is no time; write dates as 2024-01-31 or "
                f"2024-01-31 12:30, months as 2024-01, quarters as 2024Q1, or give numbers."
            )
    try:
        found = as_series(data.rows, time=cells, every=every)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return Data(data.names, found.values, found.times)


def is_date(cell: str) -> bool:
    """Whether a cell has a date in one of the forms that are read."""
    with suppress(ValueError):
        return of_text(cell) is not None
    return False


def _is_number(cell: str) -> bool:
    with suppress(ValueError):
        return bool(np.isfinite(float(cell)))
    return False


def rows_at(path: Path, data: Data, times: Times, rows: Sequence[int]) -> Float[np.ndarray, "n d_u"]:
    """The lines of a file at the times of some rows of a series.

    Raises:
        ValueError: there is none at one of them.
    """
    place = None if data.times is None else times.row_of(data.times)
    index = np.asarray(rows) - (place or 0)
    inside = (index >= 0) & (index < len(data.rows)) if place is not None else np.zeros(len(index), bool)
    found = np.full((len(index), data.rows.shape[1]), np.nan)
    found[inside] = data.rows[index[inside]]
    absent = np.isnan(found).all(axis=1)
    if absent.any():
        when = times.text([np.asarray(rows)[np.argmax(absent)]])[0]
        raise ValueError(
            f"{path} has no row at {when}: known inputs must be there at every time of the data."
        )
    return found


def rows_after(problem: Problem, data: Data) -> Float[np.ndarray, "n d_y"]:
    """The new rows of a file with times, from the end of a run's series on, missing ones between.

    Raises:
        ValueError: other times, nothing new, or an old row with other values.
    """
    times, series = problem.when, problem.series
    if times is None or data.times is None:
        return data.rows
    place = times.row_of(data.times)
    if place is None or place < 0:
        raise ValueError(
            f"The new rows begin at {data.times.text([0])[0]}, and the run has "
            f"{times.span(len(series))}: give rows that follow it by its step."
        )
    known = min(len(series) - place, len(data.rows))
    if known <= 0:
        gap = np.full((place - len(series), data.rows.shape[1]), np.nan)
        if len(gap):
            typer.echo(f"{len(gap)} rows are missing between the end of the run and the new ones.")
        return np.concatenate([gap, data.rows])
    old, again = series[place : place + known], data.rows[:known]
    other = (old != again) & ~(np.isnan(old) & np.isnan(again))
    if other.any():
        row = int(np.argmax(other.any(axis=1)))
        raise ValueError(
            f"The row at {times.text([place + row])[0]} is {again[row].tolist()}, and "
            f"{old[row].tolist()} in the run: an update takes in new rows; to change old ones, fit anew."
        )
    if known == len(data.rows):
        raise ValueError(f"All {known} rows are in the run already: give rows that follow them.")
    typer.echo(f"The first {known} of {len(data.rows)} rows are in the run already: the others are new.")
    return data.rows[known:]
