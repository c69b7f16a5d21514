"""A CSV file as a series: header or none, empty cells for what is missing, errors with line numbers."""

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from tsnl.cli.dated import in_time, is_date, rows_at
from tsnl.cli.encoding import read_text
from tsnl.cli.form import Data, Form, Line, NoColumnError
from tsnl.problem.times import Times

MISSING = {"", "na", "n/a", "nan", "null", "none"}
DELIMITERS = (",", ";", "\t")
FEW = 5  # rows among which one whole number may be an accident
WHOLE = re.compile(r"[+-]?\d+")
WITH_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")


def read_csv(path: str | Path, columns: tuple[str, ...] = (), form: Form | None = None) -> Data:
    """Read a series.

    The delimiter is a semicolon or tab where every line has as many of them, else a comma, semicolon or
    tab, whichever the first line has most of. The first line is
    a header where one of its cells is neither a number nor missing. Lines that start with # are left
    out, and empty ones at the end; an empty one before is a missing row.

    Args:
        path: of the file.
        columns: names, or numbers from 1, of the columns to take; all where there are none.
        form: how the file is written, as far as it must be told.

    Raises:
        ValueError: what is wrong, and on which line.
    """
    form = form or Form()
    lines, delimiter = _lines(Path(path), form)
    comma = _has_decimal_commas(path, lines, delimiter, form)
    if comma:
        lines = [
            Line(
                number, [cell.replace(",", ".") if WITH_COMMA.fullmatch(cell) else cell for cell in row]
            )
            for number, row in lines
        ]
    head = lines[0].cells
    named = _has_header(path, lines) if form.header is None else form.header
    names = tuple(name or str(i + 1) for i, name in enumerate(head)) if named else _numbered(len(head))
    when = None if form.time is None else _place(path, names, form.time)
    chosen = [_place(path, names, column) for column in columns]
    chosen = chosen or [i for i in range(len(names)) if i != when]
    body = lines[1:] if named else lines
    if not body:
        raise ValueError(f"{path} has a header and no rows.")
    rows = [_row(path, line, names, chosen, comma=comma or delimiter != ",") for line in body]
    found = Data(tuple(names[i] for i in chosen), np.array(rows, dtype=np.float64))
    return found if when is None else in_time(path, found, body, when, form.every)


def read_inputs(
    path: Path | None, form: Form | None = None, times: Times | None = None, rows: Sequence[int] = ()
) -> Float[np.ndarray, "T d_u"] | None:
    """Known inputs, all columns of a file; None without one.

    Args:
        path: of the file.
        form: how it is written. Where it names a column of times and the file has one, lines are found
            by their times; else there is a line for each row.
        times: of the series.
        rows: of the series, counted from 0, whose inputs are wanted.
    """
    if path is None:
        return None
    form = form or Form()
    if times is None:
        return read_csv(path, form=form.untimed).rows
    try:
        found = read_csv(path, form=form.untimed if form.time is None else form.stepping(times))
    except NoColumnError:
        return read_csv(path, form=form.untimed).rows
    return found.rows if form.time is None else rows_at(path, found, times, rows)


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(str(i + 1) for i in range(count))


def _lines(path: Path, form: Form) -> tuple[list[Line], str]:
    """Every line that counts, and the delimiter."""
    text = read_text(path, form.encoding)
    kept = [(i, line) for i, line in enumerate(text.splitlines(), 1) if not line.startswith("#")]
    while kept and not kept[-1][1].strip():
        kept.pop()
    if not kept:
        raise ValueError(f"{path} is empty.")
    delimiter = _delimiter([line for _, line in kept if line.strip()], form)
    parsed = csv.reader([line for _, line in kept], delimiter=delimiter)
    try:
        rows = list(parsed)
    except csv.Error as error:
        raise ValueError(f"{path}, line {kept[parsed.line_num - 1][0]}: {error}.") from error
    if len(rows) != len(kept):
        raise ValueError(f"{path} has a quoted cell that goes over several lines: write it on one.")
    pairs = zip(kept, rows, strict=True)
    return [Line(number, [cell.strip() for cell in row]) for (number, _), row in pairs], delimiter


def _delimiter(lines: list[str], form: Form) -> str:
    for sign in DELIMITERS[1:]:
        counts = {line.count(sign) for line in lines}
        if len(counts) == 1 and counts != {0}:
            return sign
    quoted = '"' in lines[-1]  # then commas may be decimal ones and separate the cells too
    candidates = DELIMITERS[1:] if form.decimal == "," and not quoted else DELIMITERS
    return max(candidates, key=lines[0].count)


def _has_decimal_commas(path: str | Path, lines: list[Line], delimiter: str, form: Form) -> bool:
    """Whether 1,5 is one and a half; in a file that writes both 1,5 and 1.5 nobody knows."""
    if form.decimal is not None or delimiter == ",":
        return form.decimal == ","
    with_comma = next((line for line in lines if any(map(WITH_COMMA.fullmatch, line.cells))), None)
    if with_comma is None:
        return False
    for number, row in lines:
        point = next((cell for cell in row if "." in cell and _number(cell) is not None), None)
        if point is not None:
            raise ValueError(
                f"{path} has decimal commas (line {with_comma.number}) and decimal points ({point!r} on "
                f"line {number}): write all numbers in one way, or say which it is with --decimal."
            )
    return True


def _has_header(path: str | Path, lines: list[Line]) -> bool:
    """Whether the first line names the columns.

    Raises:
        ValueError: it has whole numbers over decimal fractions, which may be names such as years.
    """
    head, body = lines[0].cells, [line.cells for line in lines[1:]]
    if any(_number(cell) is None for cell in head):
        return True
    if _counts(head[1:]) and head[0] == "" and _counts([row[0] for row in body if row]):
        return True  # a table of pandas with its index
    below = [cell for row in body for cell in row if cell.lower() not in MISSING]
    whole = len(set(head)) == len(head) and all(map(WHOLE.fullmatch, head))
    if whole and len(body) >= FEW and not any(map(WHOLE.fullmatch, below)):
        raise ValueError(
            f"{path}, line {lines[0].number}: {', '.join(head)} may be names of columns or a row of "
            f"data: say which with --header or --no-header."
        )
    return False


def _counts(cells: list[str]) -> bool:
    """Whether they are 0, 1, 2, ..."""
    return bool(cells) and cells == [str(i) for i in range(len(cells))]


def _number(cell: str) -> float | None:
    """The number in a cell, NaN where it is missing; None where it is something else."""
    if cell.lower() in MISSING:
        return float("nan")
    try:
        return float(cell)
    except ValueError:
        return None


def _place(path: str | Path, names: tuple[str, ...], column: str) -> int:
    if column in names:
        return names.index(column)
    if column.isdecimal() and 1 <= int(column) <= len(names):
        return int(column) - 1
    raise NoColumnError(f"{path} has no column {column!r}; it has {', '.join(names)}.")


def _row(
    path: str | Path, line: Line, names: tuple[str, ...], chosen: list[int], *, comma: bool
) -> list[float]:
    """The numbers of a line; `comma` says that a comma separates no cells here."""
    row, where = line.cells, f"{path}, line {line.number}"
    if not row:
        return [float("nan")] * len(chosen)
    if len(row) != len(names):
        raise ValueError(
            f"{where}: {len(row)} cells, expected {len(names)}{_why_more(row, names, comma)}."
        )
    found = []
    for i in chosen:
        value = _number(row[i])
        if value is None or np.isinf(value):
            raise ValueError(
                f"{where}: {row[i]!r} in column {names[i]} is no finite number; {_remedy(row[i])}."
            )
        found.append(value)
    return found


def _why_more(row: list[str], names: tuple[str, ...], comma: bool) -> str:
    """What may have made more cells of a line than there are names."""
    if len(row) == 2 * len(names) and not comma and all(map(WHOLE.fullmatch, row[1::2])):
        return (
            "; where these are decimal commas, separate the columns by semicolons and give --decimal ,"
        )
    if len(row) == len(names) + 1 and not row[-1]:
        return "; take the delimiter at the end of the line away, or put one at the end of the header"
    return ""


def _remedy(cell: str) -> str:
    if WITH_COMMA.fullmatch(cell):
        return "where its comma is a decimal one, give --decimal ,"
    if _number(cell.replace(",", "")) is not None:
        return "write it without separators of thousands"
    if is_date(cell):
        return "where it says when the row was, name its column with --time"
    return "leave it empty where it is missing, or choose other columns with --columns"
