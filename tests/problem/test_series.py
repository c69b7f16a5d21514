import numpy as np
import pytest

from tsnl import as_series


def test_one_shape_for_all():
    assert as_series([1, 2, 3]).shape == (3, 1)
    assert as_series(np.ones((3, 2))).shape == (3, 2)
    assert as_series([1.0, np.nan]).dtype == np.float64


def test_the_original_is_left_alone():
    original = np.ones(3)
    as_series(original)[0] = 5
    assert original[0] == 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", "b"], "not numeric"),
        ([], "shape"),
        (np.ones((2, 2, 2)), r"\(2, 2, 2\)"),
        ([1.0, np.inf], "row 1, column 0"),
        ([np.nan, np.nan], "All 2 rows"),
        (3.0, "shape"),
    ],
)
def test_bad_series(values, message):
    with pytest.raises(ValueError, match=message):
        as_series(values)


def test_wrong_number_of_columns():
    with pytest.raises(ValueError, match=r"3 column\(s\), the model observes 1"):
        as_series(np.ones((5, 3)), num_columns=1)
