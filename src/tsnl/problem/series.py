"""The door for data: whatever the user has becomes one float array (T, d_y), NaN where missing."""

from typing import Any

import numpy as np
from jaxtyping import Float

from tsnl.problem.index import check_index
from tsnl.runtime.arrays import as_numbers


def as_series(
    values: Any, num_columns: int | None = None, *, empty: bool = False
) -> Float[np.ndarray, "T d_y"]:
    """Check an observed series and give it its one shape.

    Args:
        values: array-like of shape (T,) or (T, d_y); NaN marks a missing entry, and so does a mask. An
            index of times (pandas, xarray) must be in order and equally spaced.
        num_columns: d_y of the model, or None to accept any.
        empty: whether nothing at all need be observed, as in a stretch of a longer series.

    Returns:
        A float64 array (T, d_y).

    Raises:
        ValueError: not numeric, no rows, infinite entries, no observed entry, the wrong d_y, or rows
            that are not one step apart.
    """
    check_index(values)
    try:
        series = as_numbers(values)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The series is not numeric ({error}): give an array of shape (T,) or (T, d_y), with NaN "
            f"for missing entries."
        ) from error
    if series.ndim == 1:
        series = series[:, None]
    if series.ndim != 2 or 0 in series.shape:
        raise ValueError(
            f"The series has shape {np.shape(values)}, expected (T,) or (T, d_y) with T, d_y >= 1."
        )
    if np.isinf(series).any():
        row, column = np.argwhere(np.isinf(series))[0].tolist()
        raise ValueError(
            f"The series is infinite at row {row + 1}, column {column + 1}: remove or correct that "
            f"value, or put NaN if it is missing."
        )
    if np.isnan(series).all() and not empty:
        raise ValueError(f"All {len(series)} rows of the series are missing (NaN).")
    if num_columns is not None and series.shape[1] != num_columns:
        raise ValueError(
            f"The series has {series.shape[1]} column(s), the model observes {num_columns}: give an "
            f"array of shape (T, {num_columns})."
        )
    return series


def as_panel(values: Any) -> list[Float[np.ndarray, "_ d_y"]]:
    """One series, or a list of arrays, each a series of its own, as a list of them.

    Lists of numbers in a list are the rows of one series.

    Raises:
        ValueError: a series has an error, or they differ in d_y.
    """
    if not (isinstance(values, list | tuple) and any(getattr(one, "ndim", 0) for one in values)):
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
    found = []
    for one, length in zip([values] if len(lengths) == 1 else values, lengths, strict=True):
        check_index(one)
        try:
            rows = as_numbers(one)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"inputs are not numeric ({error}): give an array (T,) or (T, d_u)."
            ) from error
        rows = rows[:, None] if rows.ndim == 1 else rows
        if rows.ndim != 2 or rows.shape[0] != length or rows.shape[1] == 0:
            raise ValueError(
                f"inputs has shape {np.shape(one)}, expected {length} rows: one for each of y."
            )
        if not np.isfinite(rows).all():
            row, column = np.argwhere(~np.isfinite(rows))[0].tolist()
            raise ValueError(
                f"inputs is {rows[row, column]} at row {row + 1}, column {column + 1}: inputs must "
                f"be known."
            )
        found.append(rows)
    if len({rows.shape[1] for rows in found}) > 1:
        raise ValueError("inputs differ in their number of columns: expected the same in each.")
    return tuple(found)
