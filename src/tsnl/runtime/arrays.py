"""Numbers of whatever kind as one kind of array."""

from typing import Any

import numpy as np


def as_numbers(values: Any) -> np.ndarray:
    """A float64 array with memory of its own, NaN where an entry is masked or marked as missing.

    Raises:
        TypeError, ValueError: these are no real numbers.
    """
    if isinstance(values, np.ma.MaskedArray):
        return as_numbers(np.ma.getdata(values)) + np.where(np.ma.getmaskarray(values), np.nan, 0.0)
    if isinstance(values, list | tuple) and any(isinstance(one, np.ma.MaskedArray) for one in values):
        return np.stack([as_numbers(one) for one in values])
    if type(values).__module__.partition(".")[0] == "pandas":
        values = values.to_numpy(dtype=np.float64, na_value=np.nan)
    found = np.asarray(values)
    if found.dtype.kind in "cMm":
        raise TypeError(f"{found.dtype} are no real numbers")
    return np.array(values, dtype=np.float64)
