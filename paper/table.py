"""A tidy table that survives a kill: one line of CSV for each finished trial."""

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from paper.trial import Row


def read(path: Path) -> list[Row]:
    """All whole rows; a last line without its end, as a kill leaves it, is dropped."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1])))


def finished(rows: Sequence[Row]) -> list[Row]:
    """The rows of trials that did not fail."""
    return [row for row in rows if row["status"] == "ok"]


def append(path: Path, columns: Sequence[str], row: Row) -> None:
    """Add one row in a single write, with the header where the table is new.

    Raises:
        ValueError: the table has other columns.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _mend(path)
    new = not path.exists() or path.stat().st_size == 0
    if not new:
        check(path, columns)
    text = (_line(columns) if new else "") + _line([_cell(row.get(name, "")) for name in columns])
    with path.open("ab") as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())


def check(path: Path, columns: Sequence[str]) -> None:
    """Raise ValueError where a table was written with other columns than these."""
    with path.open(encoding="utf-8", newline="") as file:
        header = next(csv.reader(file), [])
    if header and header != list(columns):
        raise ValueError(
            f"{path} has the columns {header}, this version writes {list(columns)}: move it away or "
            f"choose another folder."
        )


def numbers(rows: Sequence[Row], column: str) -> np.ndarray:
    """A column as numbers, NaN where it is empty."""
    return np.array([float(row[column]) if row[column] not in ("", None) else np.nan for row in rows])


def values(rows: Sequence[Row], column: str) -> list[str]:
    """The distinct values of a column, in the order of their first row."""
    return list(dict.fromkeys(row[column] for row in rows))


def where(rows: Sequence[Row], **wanted: Any) -> list[Row]:
    """The rows with these values."""
    return [row for row in rows if all(str(row[name]) == str(x) for name, x in wanted.items())]


def _mend(path: Path) -> None:
    """Cut off a torn last line, so that the next row starts on a line of its own."""
    if not path.exists():
        return
    data = path.read_bytes()
    if data and not data.endswith(b"\n"):
        os.truncate(path, data.rfind(b"\n") + 1)


def _line(cells: Sequence[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()


def _cell(value: Any) -> str:
    """Short but exact enough; never a line break, which would tear a row."""
    if isinstance(value, float | np.floating):
        return f"{value:.8g}"
    return " ".join(str(value).split())
