"""A CSV file as a series: header or none, empty cells for what is missing, errors with line numbers."""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

MISSING = {"", "na", "n/a", "nan", "null", "none"}
DELIMITERS = (",", ";", "\t")


@dataclass(frozen=True)
class Data:
    """Rows of numbers, NaN where missing, and the names of their columns."""

    names: tuple[str, ...]
    rows: Float[np.ndarray, "T d_y"]


def read_csv(path: str | Path, columns: tuple[str, ...] = ()) -> Data:
    """Read a series.

    The delimiter is a comma, semicolon or tab, whichever the first line has most of. The first line is
    a header where one of its cells is neither a number nor missing. Lines that start with # are left
    out, and empty ones at the end; an empty one before is a missing row.

    Args:
        path: of the file.
        columns: names, or numbers from 1, of the columns to take; all where there are none.

    Raises:
        ValueError: what is wrong, and on which line.
    """
    lines = _lines(Path(path))
    cells = [(number, [cell.strip() for cell in row]) for number, row in lines]
    head = cells[0][1]
    has_names = any(_number(cell) is None for cell in head)
    names = tuple(head) if has_names else tuple(str(i + 1) for i in range(len(head)))
    chosen = [_place(path, names, column) for column in columns] or list(range(len(names)))
    body = cells[1:] if has_names else cells
    if not body:
        raise ValueError(f"{path} has a header and no rows.")
    rows = [_row(path, number, row, names, chosen) for number, row in body]
    return Data(tuple(names[i] for i in chosen), np.array(rows, dtype=np.float64))


def read_inputs(path: Path | None) -> Float[np.ndarray, "T d_u"] | None:
    """Known inputs, all columns of a file; None without one."""
    return None if path is None else read_csv(path).rows


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """Number and cells of every line that counts."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text in UTF-8 ({error.reason}): save it as CSV.") from error
    if "\0" in text:
        raise ValueError(f"{path} is no text: save it as CSV.")
    kept = [(i, line) for i, line in enumerate(text.splitlines(), 1) if not line.startswith("#")]
    while kept and not kept[-1][1].strip():
        kept.pop()
    if not kept:
        raise ValueError(f"{path} is empty.")
    delimiter = max(DELIMITERS, key=kept[0][1].count)
    parsed = csv.reader([line for _, line in kept], delimiter=delimiter)
    try:
        rows = list(parsed)
    except csv.Error as error:
        raise ValueError(f"{path}, line {kept[parsed.line_num - 1][0]}: {error}.") from error
    if len(rows) != len(kept):
        raise ValueError(f"{path} has a quoted cell that goes over several lines: write it on one.")
    return [(number, row) for (number, _), row in zip(kept, rows, strict=True)]


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
    raise ValueError(f"{path} has no column {column!r}; it has {', '.join(names)}.")


def _row(
    path: str | Path, line: int, row: list[str], names: tuple[str, ...], chosen: list[int]
) -> list[float]:
    if not row:
        return [float("nan")] * len(chosen)
    if len(row) != len(names):
        raise ValueError(f"{path}, line {line}: {len(row)} cells, expected {len(names)}.")
    found = []
    for i in chosen:
        value = _number(row[i])
        if value is None or np.isinf(value):
            raise ValueError(
                f"{path}, line {line}: {row[i]!r} in column {names[i]} is no finite number; leave it "
                f"empty where it is missing, or choose other columns with --columns."
            )
        found.append(value)
    return found
