import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest

import tsnl
from tsnl import as_series
from tsnl.models import LinearGaussian
from tsnl.problem import Problem
from tsnl.problem.series import as_inputs, as_rows


def test_one_shape_for_all():
    assert as_series([1, 2, 3]).shape == (3, 1)
    assert as_series(np.ones((3, 2))).shape == (3, 2)
    assert as_series([1.0, np.nan]).values.dtype == np.float64


def test_the_original_is_left_alone():
    original = np.ones(3)
    as_series(original).values[0] = 5
    series = as_series(original)
    as_rows(series)[0] = 5
    assert original[0] == series.values[0, 0] == 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", "b"], "not numeric"),
        ([], "shape"),
        (np.ones((2, 2, 2)), r"\(2, 2, 2\)"),
        ([1.0, np.inf], "row 2, column 1"),
        ([np.nan, np.nan], "All 2 rows"),
        (3.0, "shape"),
    ],
)
def test_bad_series(values, message):
    with pytest.raises(ValueError, match=message):
        as_series(values)


def test_wrong_number_of_columns():
    with pytest.raises(ValueError, match=r"3 column\(s\), the model observes 1"):
        as_rows(np.ones((5, 3)), num_columns=1)


def test_a_mask_is_a_gap():
    masked = np.ma.array([1.0, -999.0, 3.0], mask=[False, True, False])
    np.testing.assert_array_equal(as_series(masked).values[:, 0], [1.0, np.nan, 3.0])
    rows = as_series([np.ma.array([1, -999], mask=[False, True]), np.ma.array([2, 3])])
    np.testing.assert_array_equal(rows, [[1.0, np.nan], [2.0, 3.0]])
    with pytest.raises(ValueError, match="inputs is nan at row 2, column 1"):
        as_inputs(masked, [3])


def test_what_pandas_marks_as_missing_is_a_gap():
    frame = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [1.0, 2.0, 3.0]})
    np.testing.assert_array_equal(as_series(frame), [[1.0, 1.0], [np.nan, 2.0], [3.0, 3.0]])


DAYS = pd.date_range("2024-01-01", periods=6)


def test_inputs_of_other_times():
    series, inputs = (
        pd.Series(np.sin(np.arange(6.0)), days) for days in (DAYS, DAYS + pd.Timedelta("1D"))
    )
    prior = tsnl.Prior(Q=dist.LogNormal(0.0, 1.0))
    with pytest.raises(ValueError, match=r"not those of the series: 2024-01-02 to 2024-01-07.*reindex"):
        Problem.of(LinearGaussian(), prior, series, inputs)


@pytest.mark.parametrize("values", [np.array([1.0 + 2j, 3.0]), DAYS.to_numpy()])
def test_numbers_that_are_not_real(values):
    with pytest.raises(ValueError, match="not numeric"):
        as_series(values)
