"""The door for data: whatever the user has becomes one float array (T, d_y), NaN where missing."""

from typing import Any

import numpy as np
from jaxtyping import Float


def as_series(
    values: Any, num_columns: int | None = None, *, empty: bool = False
) -> Float[np.ndarray, "T d_y"]:
    """Check an observed series and give it its one shape.

    Args:
        values: array-like of shape (T,) or (T, d_y); NaN marks a missing entry.
        num_columns: d_y of the model, or None to accept any.
        empty: whether nothing at all need be observed, as in a stretch of a longer series.

    Returns:
        A float64 array (T, d_y).

    Raises:
        ValueError: not numeric, no rows, infinite entries, no observed entry, or the wrong d_y.
    """
    try:
        series = np.array(values, dtype=np.float64)
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
            f"The series is infinite at row {row}, column {column}: remove or correct that value, or "
            f"put NaN if it is missing."
        )
    if np.isnan(series).all() and not empty:
        raise ValueError(f"All {len(series)} rows of the series are missing (NaN).")
    if num_columns is not None and series.shape[1] != num_columns:
        raise ValueError(
            f"The series has {series.shape[1]} column(s), the model observes {num_columns}: give an "
            f"array of shape (T, {num_columns})."
        )
    return series
