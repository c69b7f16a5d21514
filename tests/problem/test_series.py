import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest

import tsnl
from tsnl import as_series
from tsnl.models import LinearGaussian
from tsnl.problem import Problem
from tsnl.problem.series import as_inputs


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
        as_series(np.ones((5, 3)), num_columns=1)


def test_a_mask_is_a_gap():
    masked = np.ma.array([1.0, -999.0, 3.0], mask=[False, True, False])
    np.testing.assert_array_equal(as_series(masked)[:, 0], [1.0, np.nan, 3.0])
    rows = as_series([np.ma.array([1, -999], mask=[False, True]), np.ma.array([2, 3])])
    np.testing.assert_array_equal(rows, [[1.0, np.nan], [2.0, 3.0]])
    with pytest.raises(ValueError, match="inputs is nan at row 2, column 1"):
        as_inputs(masked, [3])


def test_what_pandas_marks_as_missing_is_a_gap():
    frame = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [1.0, 2.0, 3.0]})
    np.testing.assert_array_equal(as_series(frame), [[1.0, 1.0], [np.nan, 2.0], [3.0, 3.0]])


DAYS = pd.date_range("2024-01-01", periods=6)


@pytest.mark.parametrize(
    "index",
    [
        DAYS,
        DAYS.tz_localize("Europe/Paris"),
        pd.date_range("2024-01-31", periods=6, freq="ME"),
        pd.bdate_range("2024-01-03", periods=6),
        pd.period_range("2024Q1", periods=6, freq="Q"),
        pd.timedelta_range("1h", periods=6, freq="1h"),
        pd.RangeIndex(6),
        pd.Index([1990, 1992, 1994, 1996, 1998, 2000]),
        pd.Index(np.linspace(0, 1, 6)),
        pd.Index(list("fedcba")),
    ],
)
def test_rows_that_are_one_step_apart(index):
    assert as_series(pd.Series(np.arange(6.0), index)).shape == (6, 1)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (DAYS[::-1], r"not in order: sort it with series.sort_index\(\)"),
        (DAYS[[0, 1, 1, 2, 3, 4]], "has 2024-01-02 00:00:00 twice"),
        (DAYS[:4].append(DAYS[5:] + pd.Timedelta("1D")), r"after 2024-01-04.*asfreq"),
        (pd.PeriodIndex(["2024-01", "2024-02", "2024-04"], freq="M"), "after 2024-02 comes 2024-04"),
        (pd.Index([1990, 1991, 1993, 1994]), "after 1991 comes 1993"),
        (pd.Index([0, 1, 2, 0, 1]), "has 0 twice"),
        (pd.DatetimeIndex(["2024-01-01", None, "2024-01-03"]), "missing times"),
    ],
)
def test_times_that_do_not_follow_each_other(index, message):
    series = pd.Series(np.arange(float(len(index))), index)
    for values in (series, series.to_frame()):
        with pytest.raises(ValueError, match=message):
            as_series(values)
    with pytest.raises(ValueError, match=message):
        as_inputs(series, [len(series)])
    assert len(as_series(series.to_numpy())) == len(index)  # the remedy


def test_times_of_an_array_with_coordinates():
    array = pd.Series(np.arange(3.0), pd.Index([1, 2, 4], name="time")).to_xarray()
    with pytest.raises(ValueError, match="after 2 comes 4"):
        as_series(array)


def test_inputs_of_other_times():
    series, inputs = (
        pd.Series(np.sin(np.arange(6.0)), days) for days in (DAYS, DAYS + pd.Timedelta("1D"))
    )
    prior = tsnl.Prior(Q=dist.LogNormal(0.0, 1.0))
    with pytest.raises(ValueError, match=r"not that of the series: align them.*reindex"):
        Problem.of(LinearGaussian(), prior, series, inputs)


@pytest.mark.parametrize("values", [np.array([1.0 + 2j, 3.0]), DAYS.to_numpy()])
def test_numbers_that_are_not_real(values):
    with pytest.raises(ValueError, match="not numeric"):
        as_series(values)
