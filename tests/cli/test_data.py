from pathlib import Path

import numpy as np
import pytest

from tsnl.cli.columns import check_columns
from tsnl.cli.data import Data, Form, read_csv


def written(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "data.csv"
    path.write_bytes(text.encode(encoding))
    return path


NAN = np.nan


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        ("1\n2.5\n-3e2\n", ("1",), [[1], [2.5], [-300]]),
        ("level\n1\n2", ("level",), [[1], [2]]),
        ("a,b\n1,2\n,NA\n nan , 4 \n", ("a", "b"), [[1, 2], [NAN, NAN], [NAN, 4]]),
        ("a;b\n1;2\n", ("a", "b"), [[1, 2]]),
        ("a\tb\n1\t2\n", ("a", "b"), [[1, 2]]),
        ("# made today\n# twice\n1,2\n#3,4\n5,6\n\n\n", ("1", "2"), [[1, 2], [5, 6]]),
        ("y\n1\n\n3\n", ("y",), [[1], [NAN], [3]]),
        ("a,b\n1,2\n\n3,4\n", ("a", "b"), [[1, 2], [NAN, NAN], [3, 4]]),
        ("\ufeffy\r\n1\r\n2\r\n", ("y",), [[1], [2]]),
        ('"a, b",c\n1,2\n', ("a, b", "c"), [[1, 2]]),
        ("NA\n2\n", ("1",), [[NAN], [2]]),
        ("a;b\n1,5;2\n-,5;1,5e3\n", ("a", "b"), [[1.5, 2], [-0.5, 1500]]),
        ("1,5\t2,5\n3\t4\n", ("1", "2"), [[1.5, 2.5], [3, 4]]),
        (",0\n0,1.5\n1,2.5\n", ("1", "0"), [[0, 1.5], [1, 2.5]]),
        ("7\n8\n9.5\n", ("1",), [[7], [8], [9.5]]),
    ],
)
def test_what_is_read(tmp_path, text, names, rows):
    found = read_csv(written(tmp_path, text))
    assert found.names == names
    np.testing.assert_array_equal(found.rows, rows)


@pytest.mark.parametrize(
    ("columns", "rows"), [(("b",), [[2], [5]]), (("c", "a"), [[3, 1], [6, 4]]), (("2",), [[2], [5]])]
)
def test_columns_are_chosen(tmp_path, columns, rows):
    path = written(tmp_path, "a,b,c,day\n1,2,3,Monday\n4,5,6,Tuesday\n")
    np.testing.assert_array_equal(read_csv(path, columns).rows, rows)


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("", (), "is empty"),
        ("\n \n", (), "is empty"),
        ("a,b\n", (), "has a header and no rows"),
        ("a,b\n1,2\n3\n", (), "line 3: 1 cells, expected 2"),
        ("# x\ny\n1\ntwo\n", (), "line 4: 'two' in column y is no finite number"),
        ("1\n2\ninf\n", (), "line 3: 'inf' in column 1"),
        ("a,b\n1,2\n", ("z",), "no column 'z'; it has a, b"),
        ("a,b\n1,2\n", ("3",), "no column '3'"),
        ('a,b\n1,"2\n3"\n', (), "over several lines"),
        ("a\0b\n1\n", (), "is no text"),
        ("a\n1,5\n", (), "separate the columns by semicolons and give --decimal ,"),
        (
            "a,b\n1,2,\n",
            (),
            "line 2: 3 cells, expected 2; take the delimiter at the end of the line away",
        ),
        (
            'a,b\n"1,5",2\n',
            (),
            "'1,5' in column a .* where its comma is a decimal one, give --decimal ,",
        ),
        ("a;b\n1,5;2\n1;2.5\n", (), r"decimal commas \(line 2\) and decimal points \('2.5' on line 3\)"),
        ("a\n1,234.5\n".replace(",", "'"), (), "leave it empty where it is missing"),
        ('a\n"1,234.5"\n', (), "without separators of thousands"),
        ("2019,2020\n" + 5 * "1.5,2.5\n", (), "2019, 2020 may be names .* --header or --no-header"),
        ("PK\x03\x04", (), "is a spreadsheet or an archive"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, columns, message):
    with pytest.raises(ValueError, match=message):
        read_csv(written(tmp_path, text), columns)


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        ("latin-1", r"byte 0xF6 on line 2\): .* --encoding latin-1"),
        ("utf-16-le", "looks like UTF-16; give --encoding utf-16-le"),
        ("utf-16-be", "looks like UTF-16; give --encoding utf-16-be"),
    ],
)
def test_an_encoding_that_must_be_told(tmp_path, encoding, message):
    path = written(tmp_path, "# cm, mm\ngröße\n1\n", encoding)
    with pytest.raises(ValueError, match=message):
        read_csv(path)
    assert read_csv(path, form=Form(encoding=encoding)).names == ("größe",)


def test_encodings_that_need_not_be_told_and_those_that_do_not_exist(tmp_path):
    path = written(tmp_path, "größe\n1\n", "utf-16")  # with its mark
    assert read_csv(path).names == ("größe",)
    with pytest.raises(ValueError, match="encoding is 'utf-9', which is not known"):
        read_csv(path, form=Form(encoding="utf-9"))
    with pytest.raises(ValueError, match="decimal is ';', expected"):
        Form(decimal=";")


@pytest.mark.parametrize(
    ("text", "form", "names", "rows"),
    [
        ("a\n1,5\n", Form(decimal=","), ("a",), [[1.5]]),
        ('a,b\n"1,5","2"\n', Form(decimal=","), ("a", "b"), [[1.5, 2]]),
        ("2019,2020\n" + 5 * "1.5,2.5\n", Form(header=True), ("2019", "2020"), 5 * [[1.5, 2.5]]),
        ("9,8\n" + 5 * "1.5,2.5\n", Form(header=False), ("1", "2"), [[9, 8], *5 * [[1.5, 2.5]]]),
    ],
)
def test_remedies_work(tmp_path, text, form, names, rows):
    found = read_csv(written(tmp_path, text), form=form)
    assert found.names == names
    np.testing.assert_array_equal(found.rows, rows)


@pytest.mark.parametrize(
    ("names", "rows", "expected", "message"),
    [
        (
            ("year", "y"),
            [[2001, 0.5], [2002, 0.7], [2003, 0.1]],
            1,
            "year counts the rows: .* --columns y$",
        ),
        (("y", "2"), [[0.5, NAN], [0.7, NAN]], 1, "2 is empty .* --columns y$"),
        (("a", "b", "c"), [[0.5, 1, 2], [0.7, 3, 9]], 2, r"gives 2: choose .* --columns a,b\.$"),
        (("1", "2"), [[1, 5], [2, 7], [2, 1]], 1, "give --decimal ,$"),
        (("y",), [[0.5], [0.7]], 2, r"has 1 column \(y\), the simulator gives 2: give data with 2 col"),
    ],
)
def test_columns_that_do_not_fit_the_simulator(names, rows, expected, message):
    data = Data(names, np.array(rows, dtype=float))
    with pytest.raises(ValueError, match=message):
        check_columns(Path("data.csv"), data, expected)
    check_columns(Path("data.csv"), data, len(names))
    check_columns(Path("data.csv"), data, None)
