"""Tables keep every finished row through a kill."""

import pytest

from paper import table

COLUMNS = ("id", "status", "reason", "cost")


def row(name, reason="", cost=1.5):
    return {"id": name, "status": "ok", "reason": reason, "cost": cost}


def test_rows_come_back(tmp_path):
    path = tmp_path / "deep" / "t.csv"
    table.append(path, COLUMNS, row("a", 'said "no, never",\nand then'))
    table.append(path, COLUMNS, row("b"))
    rows = table.read(path)
    assert [r["id"] for r in rows] == ["a", "b"]
    assert rows[0]["reason"] == 'said "no, never", and then'
    assert table.numbers(rows, "cost").tolist() == [1.5, 1.5]
    assert path.read_text().count("\n") == 3


@pytest.mark.parametrize("cut", [1, 3, 6])
def test_a_torn_last_line_is_dropped_and_mended(tmp_path, cut):
    path = tmp_path / "t.csv"
    for name in "abc":
        table.append(path, COLUMNS, row(name))
    path.write_bytes(path.read_bytes()[:-cut])
    assert [r["id"] for r in table.read(path)] == ["a", "b"]
    table.append(path, COLUMNS, row("d"))
    assert [r["id"] for r in table.read(path)] == ["a", "b", "d"]


def test_a_torn_header_starts_anew(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,sta")
    assert table.read(path) == []
    table.append(path, COLUMNS, row("a"))
    assert [r["id"] for r in table.read(path)] == ["a"]


def test_other_columns_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    table.append(path, COLUMNS, row("a"))
    with pytest.raises(ValueError, match="move it away"):
        table.append(path, (*COLUMNS, "more"), row("b"))


def test_empty_cells_are_nan_and_rows_are_found(tmp_path):
    path = tmp_path / "t.csv"
    table.append(path, COLUMNS, {"id": "a", "status": "failed"})
    table.append(path, COLUMNS, row("b"))
    rows = table.read(path)
    assert str(table.numbers(rows, "cost")[0]) == "nan"
    assert [r["id"] for r in table.finished(rows)] == ["b"]
    assert table.where(rows, id="b") == rows[1:]
    assert table.values(rows, "status") == ["failed", "ok"]
