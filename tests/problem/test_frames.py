"""Tables as people have them: names, gaps and times come along."""

import datetime

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from tsnl import as_series

pl = pytest.importorskip("polars")

DAYS = [datetime.date(2024, 1, day) for day in range(1, 5)]
LEVEL, FLOW = [1.0, None, 3.0, 4.0], [5, 6, 7, None]
EXPECTED = np.array([[1.0, 5.0], [np.nan, 6.0], [3.0, 7.0], [4.0, np.nan]])
PANDAS = pd.DataFrame({"date": pd.to_datetime(DAYS), "level": LEVEL, "flow": FLOW})
POLARS = pl.DataFrame({"date": DAYS, "level": LEVEL, "flow": FLOW})
XARRAY = xr.Dataset(
    {"level": ("date", EXPECTED[:, 0]), "flow": ("date", EXPECTED[:, 1])}, {"date": PANDAS["date"].array}
)
TABLES = [
    pytest.param(PANDAS, "date", id="pandas"),
    pytest.param(PANDAS.set_index("date"), None, id="pandas with an index"),
    pytest.param(PANDAS.set_index("date"), "date", id="pandas with a named index"),
    pytest.param(PANDAS.astype({"flow": "Int64"}), "date", id="pandas with gaps of its own"),
    pytest.param(PANDAS.assign(date=[str(day) for day in DAYS]), "date", id="pandas with text"),
    pytest.param(PANDAS[["level", "flow"]], DAYS, id="pandas with times beside it"),
    pytest.param(POLARS, "date", id="polars"),
    pytest.param(POLARS.with_columns(pl.col("date").cast(pl.Datetime)), "date", id="polars, moments"),
    pytest.param(POLARS.with_columns(pl.col("date").cast(pl.String)), "date", id="polars with text"),
    pytest.param(XARRAY, "date", id="Dataset"),
    pytest.param(XARRAY, None, id="Dataset, its dates found"),
    pytest.param(XARRAY.to_dataarray("what"), "date", id="DataArray, turned"),
    pytest.param(XARRAY.to_dataarray("what").transpose("date", "what"), None, id="DataArray"),
]


@pytest.mark.parametrize(("table", "time"), TABLES)
def test_a_table_with_dates(table, time):
    found = as_series(table, time)
    np.testing.assert_array_equal(found.values, EXPECTED)
    assert found.columns == ("level", "flow")
    assert found.times.text(range(5)) == [*map(str, DAYS), "2024-01-05"]
    np.testing.assert_array_equal(np.asarray(found), EXPECTED)
    assert repr(found) == (
        "Series(4 rows of level, flow; 2 entries missing; 2024-01-01 to 2024-01-04, every 1D)"
    )


@pytest.mark.parametrize("table", [PANDAS["level"], POLARS["level"], XARRAY["level"].drop_vars("date")])
def test_one_column(table):
    found = as_series(table)
    np.testing.assert_array_equal(found.values, EXPECTED[:, :1])
    assert found.columns == ("level",)
    assert found.times is None


@pytest.mark.parametrize("values", [EXPECTED.tolist(), EXPECTED, np.ma.masked_invalid(EXPECTED)])
def test_times_beside_an_array(values):
    found = as_series(values, time=[1990, 1992, 1994, 1996])
    np.testing.assert_array_equal(found.values, EXPECTED)
    assert found.times.text([4]) == ["1998"]
    assert found.columns == ()


@pytest.mark.parametrize(
    ("table", "names"),
    [
        (pd.Series([1.0]), ()),
        (pd.DataFrame(np.ones((3, 2))), ()),
        (pd.DataFrame(np.ones((3, 2)), columns=["a", "a"]), ()),
        (xr.DataArray(np.ones((3, 2)), dims=("time", "site")), ()),
        (xr.DataArray(np.ones(3), dims="time", name="level"), ("level",)),
    ],
)
def test_names_that_cannot_be_shown(table, names):
    assert as_series(table).columns == names


@pytest.mark.parametrize(
    ("table", "time", "message"),
    [
        (PANDAS, None, r"Column 'date' has dates.*as_series\(frame, time='date'\)"),
        (POLARS, None, r"Column 'date' has dates.*as_series\(frame, time='date'\)"),
        (POLARS, "day", "time is 'day', expected one of 'date', 'level', 'flow'"),
        (PANDAS, "day", "time is 'day', expected one of 'date', 'level', 'flow'"),
        (XARRAY, "day", "time is 'day', expected one of 'date'"),
        (POLARS["level"], "date", "time is 'date', expected one of 'level'"),
        (POLARS.lazy(), "date", "LazyFrame.*collect"),
        (EXPECTED, "date", "a ndarray has no names: give the times themselves"),
        (EXPECTED, DAYS[:3], "time has 3 entries for 4 rows"),
        (POLARS.with_columns(site=pl.lit("a")), "date", r"not numeric.*named by time="),
        (XARRAY.assign(map=(("date", "x"), np.ones((4, 2)))), "date", r"along 'date' alone: \['map'\]"),
    ],
)
def test_what_a_table_does_not_have(table, time, message):
    with pytest.raises(ValueError, match=message):
        as_series(table, time)
