"""The times of a table's rows: a model counts its rows one by one, so they must be equally spaced."""

import warnings
from typing import Any

import numpy as np


def index_of(values: Any) -> Any:
    """The pandas index along the rows of what has one, where it says when they were; else None."""
    room = type(values).__module__.partition(".")[0]
    if room == "pandas":
        index = getattr(values, "index", None)
    elif room == "xarray":
        index = getattr(values, "indexes", {}).get(values.dims[0]) if values.dims else None
    else:
        return None
    if index is None:
        return None
    timed = _is_period(index) or getattr(index.dtype, "kind", "O") in "Mmiuf"
    return index if timed else None


def check_index(values: Any) -> None:
    """Refuse rows that are not in the order of their times, or not equally spaced.

    Raises:
        ValueError: where, and the remedy.
    """
    index = index_of(values)
    if index is None or len(index) < 2:
        return
    if index.hasnans:
        raise ValueError("The index of the series has missing times: give every row its time.")
    if not index.is_unique:
        again = index[np.argmax(index.duplicated())]
        raise ValueError(
            f"The index of the series has {again} twice: keep one row for each time, for example with "
            f"series.groupby(level=0).mean()."
        )
    if not index.is_monotonic_increasing:
        raise ValueError("The index of the series is not in order: sort it with series.sort_index().")
    place = _first_gap(index)
    if place is not None:
        raise ValueError(
            f"The rows of the series are not equally spaced: after {index[place]} comes "
            f"{index[place + 1]}. Put empty rows (NaN) where some are missing, with series.asfreq(...) "
            f"or series.reindex(...); or, if the model's steps are the rows as they are, give "
            f"series.to_numpy()."
        )


def check_same_index(series: Any, inputs: Any) -> None:
    """Refuse inputs whose rows are of other times than those of the series.

    Raises:
        ValueError: they are.
    """
    one, other = index_of(series), index_of(inputs)
    if one is not None and other is not None and not one.equals(other):
        raise ValueError(
            "The index of the inputs is not that of the series: align them first, for example with "
            "inputs.reindex(series.index)."
        )


def _is_period(index: Any) -> bool:
    return str(index.dtype).startswith("period")


def _first_gap(index: Any) -> int | None:
    """The row after which the step is longer than the shortest; None where all are alike.

    Calendar steps, such as months, are alike in the calendar's sense.
    """
    dated = _is_period(index) or index.dtype.kind in "Mm"
    steps = np.diff(index.asi8 if dated else index.to_numpy().astype(np.float64))
    longer = np.flatnonzero(~np.isclose(steps, steps.min(), rtol=1e-6, atol=0.0))
    if not len(longer) or _follows_calendar(index):
        return None
    return int(longer[0])


def _follows_calendar(index: Any) -> bool:
    if index.dtype.kind != "M" or len(index) < 3:
        return False
    import pandas as pd  # there, where its index is

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it will return one day
        return pd.infer_freq(index) is not None
