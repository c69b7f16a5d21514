"""Values as people write them."""

from typing import Any

import numpy as np

MOST_ENTRIES = 12  # of an array that is written out


def law(distribution: Any) -> str:
    """A numpyro distribution with its arguments."""
    names = [n for n in type(distribution).arg_constraints if hasattr(distribution, n)]
    inside = ", ".join(f"{n}={as_text(getattr(distribution, n))}" for n in names)
    return f"{type(distribution).__name__}({inside})"


def as_text(value: Any) -> str:
    """As Python writes it; numbers with six digits at most, large arrays by their shapes."""
    if callable(value) and not hasattr(value, "shape"):
        return f"{getattr(value, '__name__', type(value).__name__)} (a function)"
    if hasattr(value, "shape"):
        array = np.asarray(value)
        if array.size > MOST_ENTRIES:
            return f"an array of shape {array.shape}"
        value = array.tolist()
    return _rounded(value)


def _rounded(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        ends = "[]" if isinstance(value, list) else "()"
        return ends[0] + ", ".join(_rounded(item) for item in value) + ends[1]
    return str(value)
