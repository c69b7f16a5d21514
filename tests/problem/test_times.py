"""When rows were: steps by clock and calendar, gaps, and the rows that are not in their places."""

import datetime

import numpy as np
import pandas as pd
import pytest

from tsnl import as_series
from tsnl.problem.series import as_inputs
from tsnl.problem.steps import Step
from tsnl.problem.times import Times, times_of_text, times_to_text

DAYS = pd.date_range("2024-01-01", periods=6)
EVEN = [  # an index, its last time, the next two, and the step
    (DAYS, "2024-01-06", ["2024-01-07", "2024-01-08"], "1D"),
    (DAYS.tz_localize("Europe/Paris"), "2024-01-06", ["2024-01-07", "2024-01-08"], "1D"),
    (pd.date_range("2024-03-29", periods=6, tz="Europe/Paris"), "2024-04-03", ["2024-04-04"], "1D"),
    (pd.date_range("2024-03-30 22:00", periods=6, freq="h", tz="Europe/Paris"), "2024-03-31 02:00",
     ["2024-03-31 03:00"], "1h"),
    (pd.date_range("2024-01-31", periods=6, freq="ME"), "2024-06-30", ["2024-07-31"], "1M"),
    (pd.to_datetime(["2023-11-30", "2023-12-30", "2024-01-30", "2024-02-29"]), "2024-02-29",
     ["2024-03-30", "2024-04-30"], "1M"),
    (pd.date_range("2021-01-01", periods=3, freq="YS"), "2023-01-01",
     ["2024-01-01", "2025-01-01"], "12M"),
    (pd.bdate_range("2024-01-03", periods=6), "2024-01-10", ["2024-01-11", "2024-01-12"], "1B"),
    (pd.bdate_range("2024-01-03", periods=8) + pd.Timedelta("17h"), "2024-01-12 17:00",
     ["2024-01-15 17:00"], "1B"),
    (pd.period_range("2024Q1", periods=6, freq="Q"), "2025-04-01", ["2025-07-01"], "3M"),
    (pd.timedelta_range("1h", periods=6, freq="1h"), "21600", ["25200"], "3600"),
    (pd.date_range("2024-01-01", periods=5, freq="15min"), "2024-01-01 01:00",
     ["2024-01-01 01:15"], "15min"),
    (pd.Index([1990, 1992, 1994]), "1994", ["1996", "1998"], "2"),
    (pd.Index(np.linspace(0, 1, 6)), "1", ["1.2", "1.4"], "0.2"),
    (pd.Index(np.linspace(0, 1, 4)), "1", ["1.333333333"], "0.333333333333333"),
    (pd.Index([datetime.date(2024, 1, 1), datetime.date(2024, 1, 8)]), "2024-01-08",
     ["2024-01-15"], "7D"),
]  # fmt: skip


@pytest.mark.parametrize(("index", "last", "after", "step"), EVEN)
def test_rows_that_are_one_step_apart(index, last, after, step):
    times = as_series(pd.Series(np.arange(float(len(index))), index)).times
    assert times.text([len(index) - 1]) == [last]
    assert times.text(len(index) + np.arange(len(after))) == after
    assert str(times.step) == step
    assert times_of_text(times_to_text(times)) == times  # as it is kept
    np.testing.assert_array_equal(times.rows(times.at(range(20))), range(20))


@pytest.mark.parametrize("index", [pd.RangeIndex(6), pd.Index(list("fedcba")), pd.RangeIndex(3, 15, 2)])
def test_an_index_that_says_nothing_of_time(index):
    assert as_series(pd.Series(np.arange(6.0), index)).times is None


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (DAYS[[0, 1, 3, 2]], r"Row 4 .*2024-01-03.* is earlier than row 3.*every='1D'"),
        (
            DAYS[[0, 1, 1, 2]],
            r"Row 3 of the series, counted from 1 \(2024-01-02\), has the time of row 2",
        ),
        (DAYS[[0, 1, 2, 5]], r"Row 4 .*2024-01-06.* row 3 \(2024-01-03\).*as_series\(..., every='1D'\)"),
        (pd.to_datetime(["2024-01-31", "2024-02-29", "2024-04-30"]), "Row 3 .*every='1M'"),
        (pd.bdate_range("2024-01-01", periods=8).delete(6), "Row 7 .*2024-01-10.*every='1B'"),
        (pd.PeriodIndex(["2024-01", "2024-02", "2024-04"], freq="M"), "Row 3 .*2024-04-01.*every='1M'"),
        (pd.Index([1990, 1991, 1993, 1994]), r"Row 3 .*1993.*every='1'"),
        (pd.Index([0, 1, 2, 0, 1]), r"Row 4 .*\(0\), has the time of row 1"),
        (pd.DatetimeIndex(["2024-01-01", None, "2024-01-03"]), "Row 2 .*has no time"),
        (["2024-01-01", "1/2/24"], "Row 2 .*'1/2/24' is no time: write dates as 2024-01-31"),
        (["2024-01-01T00:00Z", "2024-01-02T00:00"], "Some times have a zone"),
        ([True, False], "expected dates or numbers"),
    ],
)
def test_times_that_do_not_follow_each_other(times, message):
    values = np.arange(float(len(times)))
    with pytest.raises(ValueError, match=message):
        as_series(values, time=times)
    if isinstance(times, pd.Index):
        with pytest.raises(ValueError, match=message):
            as_series(pd.Series(values, times).to_frame())
        with pytest.raises(ValueError, match=message):
            as_inputs(pd.Series(values, times), [len(values)])
    assert len(as_series(values)) == len(values)  # the remedy: no times


@pytest.mark.parametrize(
    ("times", "every", "places", "step"),
    [
        (DAYS[[0, 1, 2, 5]], "1D", [0, 1, 2, 5], "1D"),
        (DAYS[[5, 0, 2, 1]], "D", [5, 0, 2, 1], "1D"),
        (DAYS[[0, 1, 2, 5]], datetime.timedelta(days=1), [0, 1, 2, 5], "1D"),
        (pd.bdate_range("2024-01-01", periods=8).delete(6), "B", [0, 1, 2, 3, 4, 5, 7], "1B"),
        (pd.to_datetime(["2024-01-31", "2024-02-29", "2024-04-30"]), "ME", [0, 1, 3], "1M"),
        (["2024-01", "2024-02", "2024-04"], "1mo", [0, 1, 3], "1M"),
        (["2023Q4", "2024Q1", "2024Q3"], "Q", [0, 1, 3], "3M"),
        (["20240101", "20240103"], "1D", [0, 2], "1D"),
        (["2024-01-01 00:00", "2024-01-01 00:45"], "15min", [0, 3], "15min"),
        ([1990, 1991, 1993], 1, [0, 1, 3], "1"),
        (["1990", "1991", "1993"], "1", [0, 1, 3], "1"),
        (pd.to_datetime(["2024-03-30", "2024-04-02"]).tz_localize("Europe/Paris"), "1D", [0, 3], "1D"),
        (
            pd.to_datetime(["2024-03-31 00:00", "2024-03-31 04:00"]).tz_localize("Europe/Paris"),
            "h",
            [0, 3],
            "1h",
        ),
    ],
)
def test_rows_put_on_a_grid(times, every, places, step):
    values = 1.0 + np.arange(len(times))
    found = as_series(values, time=times, every=every)
    expected = np.full(max(places) + 1, np.nan)
    expected[places] = values
    np.testing.assert_array_equal(found.values[:, 0], expected)
    assert str(found.times.step) == step


@pytest.mark.parametrize(
    ("times", "every", "message"),
    [
        (
            ["2024-01-01", "2024-01-02 13:00", "2024-01-03"],
            "1D",
            r"Row 2 .*lies between two steps of 1D",
        ),
        (["2024-01-05", "2024-01-06"], "B", r"Row 2 .*lies between two steps of 1B"),
        (["2024-01-06", "2024-01-08"], "B", r"Row 1 .*2024-01-06.*lies between two steps of 1B"),
        (["2024-01-01", "2024-01-02", "2024-01-02"], "1D", "Row 3 .*has the time of row 2"),
        (["2024-01-01", "2034-01-02"], "1s", r"make 315,705,601 rows for 2"),
        (["2024-01-01", "2024-01-02"], 1, "times are dates and every is 1, a number"),
        ([1990, 1991], "1D", "times are numbers and every is 1D, a step of dates"),
        (None, "1D", "every is '1D', and nothing says when"),
    ],
)
def test_what_has_no_place_on_a_grid(times, every, message):
    with pytest.raises(ValueError, match=message):
        as_series(np.arange(3.0 if times is None else float(len(times))), time=times, every=every)


@pytest.mark.parametrize(
    "every", ["", "m", "1x", "0D", "-1D", "1.5M", "0.3us", None, True, float("nan")]
)
def test_steps_that_are_none(every):
    with pytest.raises(ValueError, match="every is"):
        Step.of(every)


@pytest.mark.parametrize(
    ("every", "text"),
    [("W", "7D"), ("0.5h", "30min"), ("2MS", "2M"), ("QE-DEC", "3M"), ("YE", "12M"), ("1w", "7D"),
     ("90min", "90min"), ("ms", "1ms"), ("1d", "1D"), (np.timedelta64(2, "h"), "2h"), (0.25, "0.25")],
)  # fmt: skip
def test_steps_as_people_write_them(every, text):
    assert str(Step.of(every)) == text
    assert Step.of(text) == Step.of(every)


def test_times_that_are_damaged():
    good = Times.of(DAYS.to_numpy().astype("datetime64[us]")).to_json()
    for name, value in (("first", "yesterday"), ("step", "x"), ("first", 3.0), ("day", None)):
        with pytest.raises((ValueError, TypeError)):
            Times.from_json({**good, name: value})


def test_one_row_has_no_step():
    assert as_series(pd.Series([1.0], DAYS[:1])).times is None
