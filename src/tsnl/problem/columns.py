"""Names of the columns of a series."""

from typing import Any


def given_names(values: Any, count: int) -> tuple[str, ...]:
    """The names that a table brings along; none where it is an array, or its names are numbers.

    Args:
        values: a series, or a list of them, of which the first is asked.
        count: columns that it has.
    """
    first = values[0] if isinstance(values, list | tuple) and len(values) else values
    found = getattr(first, "columns", None)
    brought = [getattr(first, "name", None)] if found is None else list(found)
    names = tuple(name for name in brought if isinstance(name, str) and name)
    return names if len(brought) == len(names) == len(set(names)) == count else ()


def shown_names(names: tuple[str, ...], count: int) -> tuple[str, ...]:
    """The names to show: those given, or y, or y[0], y[1], ... as Python counts."""
    if names:
        return names
    return ("y",) if count == 1 else tuple(f"y[{j}]" for j in range(count))
