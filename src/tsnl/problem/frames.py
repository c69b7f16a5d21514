"""Tables of others taken apart: numbers, the names of their columns, and when their rows were.

None of the packages is imported here: whoever gives a table of theirs has imported them.
"""

import datetime
from typing import Any, NamedTuple

import numpy as np

from tsnl.problem.stamps import root


class Frame(NamedTuple):
    """What a table is made of.

    Attributes:
        values: (T,) or (T, d_y), of any kind that can be made numbers.
        names: of its columns; none where they are numbers, or not all apart.
        times: of its rows, of any kind; None where it does not say.
    """

    values: Any
    names: tuple[str, ...] = ()
    times: Any = None


def take_apart(data: Any, time: Any = None) -> Frame:
    """Numbers, names and times of a table.

    Args:
        data: of pandas, polars or xarray; anything else is an array.
        time: name of the column, index or dimension that says when the rows were.

    Raises:
        ValueError: there is none of that name, or a column of dates beside the numbers.
    """
    kinds = {"pandas": _pandas, "polars": _polars, "xarray": _xarray}
    kind = kinds.get(root(data))
    if kind is not None:
        return kind(data, time)
    if time is not None:
        raise ValueError(
            f"time is {time!r}, and a {type(data).__name__} has no names: give the times themselves, "
            f"one for each row."
        )
    return Frame(data)


def proper(names: Any) -> tuple[str, ...]:
    """Names that can be shown: text, and all apart; else none."""
    names = list(names)
    good = all(isinstance(name, str) and name for name in names) and len(set(names)) == len(names)
    return tuple(names) if good else ()


def _pandas(data: Any, time: Any) -> Frame:
    times = data.index if _says_when(data.index) else None
    if data.ndim == 1:
        if time is not None and time != data.index.name:
            raise _no_such(time, [data.index.name])
        return Frame(data, proper([data.name]), times)
    if time is not None and time in data.columns:
        times, data = data[time], data.drop(columns=[time])
    elif time is not None and time != data.index.name:
        raise _no_such(time, [*data.columns, data.index.name])
    _no_dates(data)
    return Frame(data, proper(data.columns), times)


def _says_when(index: Any) -> bool:
    """Whether an index has times: not where it is text, or counts the rows."""
    if type(index).__name__ == "RangeIndex" or not len(index):
        return False
    if index.dtype.kind == "O" and not str(index.dtype).startswith("period"):
        return isinstance(index[0], datetime.date)
    counts = index.dtype.kind in "iu" and np.array_equal(index, np.arange(len(index)))
    return not counts and (index.dtype.kind in "Mmiuf" or str(index.dtype).startswith("period"))


def _polars(data: Any, time: Any) -> Frame:
    if hasattr(data, "collect"):
        raise ValueError("The data are a LazyFrame of polars: give what .collect() returns.")
    if not hasattr(data, "columns"):  # a Series
        if time is not None:
            raise _no_such(time, [data.name])
        return Frame(data.to_numpy(), proper([data.name]))
    times = None
    if time is not None:
        if time not in data.columns:
            raise _no_such(time, data.columns)
        times, data = data.get_column(time), data.drop(time)
    _no_dates(data)
    columns = [data.get_column(name).to_numpy() for name in data.columns]
    return Frame(np.column_stack(columns) if columns else np.zeros((0, 0)), proper(data.columns), times)


def _xarray(data: Any, time: Any) -> Frame:
    along = _dimension(data, time)
    times = data.indexes.get(along)
    times = times if times is not None and _says_when(times) else None
    if hasattr(data, "data_vars"):
        odd = [str(name) for name, one in data.data_vars.items() if one.dims != (along,)]
        if odd or not len(data.data_vars):
            raise ValueError(
                f"Variables of the Dataset are not along {along!r} alone: {odd}. Choose those that are, "
                f"as in dataset[['a', 'b']]."
            )
        columns = [one.to_numpy() for one in data.data_vars.values()]
        return Frame(np.column_stack(columns), proper(data.data_vars), times)
    others = [name for name in data.dims if name != along]
    values = data.transpose(along, *others).to_numpy()
    if not others:
        return Frame(values, proper([data.name]), times)
    labels = data.indexes.get(others[0])
    return Frame(values, () if labels is None else proper(labels), times)


def _dimension(data: Any, time: Any) -> Any:
    """The dimension along which the rows are: named, the one with dates, or the first."""
    names = list(data.dims)
    if time is not None:
        if time not in names:
            raise _no_such(time, names)
        return time
    dated = [n for n in names if n in data.indexes and data.indexes[n].dtype.kind == "M"]
    return (dated or [n for n in names if n == "time"] or names or [None])[0]


def _no_dates(data: Any) -> None:
    """Refuse dates among the numbers."""
    kinds = dict(zip(data.columns, data.dtypes, strict=True))
    for name, kind in kinds.items():
        if str(kind).lower().startswith(("date", "period")):
            raise ValueError(
                f"Column {name!r} has dates, not numbers: where it says when the rows were, give "
                f"tsnl.as_series(frame, time={name!r})."
            )


def _no_such(time: Any, names: list[Any]) -> ValueError:
    known = ", ".join(repr(name) for name in names if name is not None)
    return ValueError(f"time is {time!r}, expected one of {known or 'no names: there are none'}.")
