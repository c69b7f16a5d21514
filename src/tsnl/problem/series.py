"""The door for data: whatever the user has becomes one float array (T, d_y), NaN where missing."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from tsnl.problem.frames import Frame, take_apart
from tsnl.problem.grid import in_time
from tsnl.problem.stamps import read_stamps
from tsnl.problem.steps import Step
from tsnl.problem.times import Times
from tsnl.runtime.arrays import as_numbers


@dataclass(frozen=True, eq=False)
class Series:
    """An observed series, as `tsnl.infer` takes it.

    Attributes:
        values: the rows, NaN where missing.
        columns: names of the columns, where the data brought some.
        times: of the rows, where the data said.
    """

    values: Float[np.ndarray, "T d_y"]
    columns: tuple[str, ...] = ()
    times: Times | None = None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.values), self.values.shape[1]

    def __repr__(self) -> str:
        missing = int(np.isnan(self.values).sum())
        parts = [f"{len(self):,} rows of {', '.join(self.columns) or f'{self.shape[1]} column(s)'}"]
        parts += [f"{missing:,} entries missing"] if missing else []
        parts += [] if self.times is None else [self.times.span(len(self))]
        return f"Series({'; '.join(parts)})"


def as_series(values: Any, time: Any = None, every: Any = None) -> Series:
    """Check an observed series and give it its one form, which `tsnl.infer` takes.

    Args:
        values: array-like of shape (T,) or (T, d_y), or a table of pandas, polars or xarray; NaN marks a
            missing entry, and so do a mask and what the table's package marks as missing.
        time: when the rows were: the name of a column, index or dimension of the table, or the times
            themselves: dates, text in the form of ISO 8601, or numbers. Without it an index of times
            (pandas, xarray) is taken.
        every: the step of the rows, such as "1D", "15min", "B" (business days), "M", "Q" or "Y": rows
            are put in their places, with missing ones between. Without it they must be in order and
            equally spaced.

    Returns:
        A `tsnl.problem.Series`: `values`, `columns`, `times`.

    Raises:
        ValueError: not numeric, no rows, infinite entries, no observed entry, or times that are not one
            step apart.
    """
    found = _finite(_read(values, time, every))
    if np.isnan(found.values).all():
        raise ValueError(f"All {len(found)} rows of the series are missing (NaN).")
    return found


def as_rows(
    values: Any, num_columns: int | None = None, *, empty: bool = False
) -> Float[np.ndarray, "T d_y"]:
    """The numbers of a series, with memory of their own.

    Args:
        values: anything that `as_series` takes.
        num_columns: d_y of the model, or None to accept any.
        empty: whether nothing at all need be observed, as in a stretch of a longer series.

    Raises:
        ValueError: as `as_series`, or the wrong d_y.
    """
    rows = (_finite(_read(values)) if empty else as_series(values)).values
    if num_columns is not None and rows.shape[1] != num_columns:
        raise ValueError(
            f"The series has {rows.shape[1]} column(s), the model observes {num_columns}: give an "
            f"array of shape (T, {num_columns})."
        )
    return rows


def as_panel(values: Any) -> list[Series]:
    """One series, or a list of tables or arrays, each a series of its own, as a list of them.

    Lists of numbers in a list are the rows of one series.

    Raises:
        ValueError: a series has an error, or they differ in d_y.
    """
    if not (isinstance(values, list | tuple) and any(map(_is_table, values))):
        return [as_series(values)]
    panel = [as_series(one) for one in values]
    widths = sorted({one.shape[1] for one in panel})
    if len(widths) > 1:
        raise ValueError(f"The series have {widths} columns: expected the same number in each.")
    return panel


def as_inputs(values: Any, lengths: list[int]) -> tuple[Float[np.ndarray, "_ d_u"], ...]:
    """Known inputs, one array for each series, with a row for each of its rows.

    Raises:
        ValueError: not numeric, not finite, or rows or columns that do not fit.
    """
    if len(lengths) > 1 and len(values) != len(lengths):
        raise ValueError(
            f"inputs has {len(values)} arrays for {len(lengths)} series: give one for each."
        )
    pairs = zip([values] if len(lengths) == 1 else values, lengths, strict=True)
    found = tuple(_known(one, length) for one, length in pairs)
    if len({rows.shape[1] for rows in found}) > 1:
        raise ValueError("inputs differ in their number of columns: expected the same in each.")
    return found


def same_times(series: list[Series], inputs: Any) -> None:
    """Refuse inputs whose rows are of other times than those of the series.

    Raises:
        ValueError: they are.
    """
    for one, known in zip(series, [inputs] if len(series) == 1 else inputs, strict=False):
        times = _read(known, what="table of inputs").times
        if one.times is not None and times is not None and times != one.times:
            raise ValueError(
                f"The times of the inputs are not those of the series: {times.span(len(known))}, and "
                f"{one.times.span(len(one))}. Align them first, for example with "
                f"inputs.reindex(series.index)."
            )


def _known(values: Any, length: int) -> Float[np.ndarray, "length d_u"]:
    """The inputs of one series."""
    rows = _read(values, what="table of inputs").values
    if len(rows) != length:
        raise ValueError(f"inputs has shape {rows.shape}, expected {length} rows: one for each of y.")
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0].tolist()
        raise ValueError(
            f"inputs is {rows[row, column]} at row {row + 1}, column {column + 1}: inputs must be known."
        )
    return rows


def _read(values: Any, time: Any = None, every: Any = None, what: str = "series") -> Series:
    """A series of which nothing need be observed."""
    if isinstance(values, Series) and time is None and every is None:
        return Series(values.values.copy(), values.columns, values.times)
    step = None if every is None else Step.of(every)
    named = time is None or isinstance(time, str)
    frame = take_apart(values, time) if named else take_apart(values)._replace(times=time)
    if frame.times is None and every is not None:
        raise ValueError(f"every is {every!r}, and nothing says when the rows were: give time= too.")
    rows, times = _numbers(frame, what), None
    if frame.times is not None:
        stamps = read_stamps(frame.times, step)
        if len(stamps.values) != len(rows):
            raise ValueError(
                f"time has {len(stamps.values)} entries for {len(rows)} rows of the {what}."
            )
        rows, times = in_time(rows, stamps, step)
    return Series(rows, frame.names if len(frame.names) == rows.shape[1] else (), times)


def _is_table(one: Any) -> bool:
    """Whether a thing in a list is a series of its own, and not one of the numbers of a row."""
    return bool(getattr(one, "ndim", 0) or getattr(one, "shape", ()) or hasattr(one, "data_vars"))


def _numbers(frame: Frame, what: str) -> Float[np.ndarray, "T d_y"]:
    """The rows, in their one shape."""
    try:
        rows = as_numbers(frame.values)
    except (TypeError, ValueError) as error:
        dates = "; a column that says when the rows were is named by time=" if frame.names else ""
        raise ValueError(
            f"The {what} is not numeric ({error}): give an array of shape (T,) or (T, d_y), with NaN "
            f"for missing entries{dates}."
        ) from error
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(
            f"The {what} has shape {np.shape(frame.values)}, expected (T,) or (T, d_y) with T, d_y >= 1."
        )
    return rows


def _finite(series: Series) -> Series:
    """Refuse infinite entries."""
    if np.isinf(series.values).any():
        row, column = np.argwhere(np.isinf(series.values))[0].tolist()
        raise ValueError(
            f"The series is infinite at row {row + 1}, column {column + 1}: remove or correct that "
            f"value, or put NaN if it is missing."
        )
    return series
