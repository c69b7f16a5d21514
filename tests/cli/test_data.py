import numpy as np
import pytest

from tsnl.cli.data import read_csv


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
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, columns, message):
    with pytest.raises(ValueError, match=message):
        read_csv(written(tmp_path, text), columns)


def test_other_encodings_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no text in UTF-8"):
        read_csv(written(tmp_path, "größe\n1\n", "latin-1"))
