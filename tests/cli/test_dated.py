"""Times in CSV files: of the data, of their known inputs, and of the rows that follow a run."""

import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl.cli.data import read_csv, read_inputs
from tsnl.cli.dated import rows_after
from tsnl.cli.form import Form
from tsnl.problem import Problem
from tsnl.runtime.reader import at_command_line

NAN = np.nan
DATA = "day,level\n2024-01-01,1\n2024-01-02,2\n2024-01-03,\n2024-01-04,4\n"
GAP = "day;level\n2024-01-01;1,5\n2024-01-02;2\n2024-01-05;4\n"


def written(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "form", "rows", "span"),
    [
        (DATA, Form(time="day"), [1, 2, NAN, 4], "2024-01-01 to 2024-01-04, every 1D"),
        (DATA, Form(time="1"), [1, 2, NAN, 4], "2024-01-01 to 2024-01-04, every 1D"),
        (GAP, Form(time="day", every="1D"), [1.5, 2, NAN, NAN, 4], "2024-01-01 to 2024-01-05, every 1D"),
        ("year,y\n1990,1\n1991,2\n", Form(time="year"), [1, 2], "1990 to 1991, every 1"),
        ("2024-01,1\n2024-02,2\n2024-04,3\n", Form(time="1", every="M", header=False), [1, 2, NAN, 3],
         "2024-01-01 to 2024-04-01, every 1M"),
    ],
)  # fmt: skip
def test_a_column_of_times(tmp_path, text, form, rows, span):
    found = read_csv(written(tmp_path, text), form=form)
    np.testing.assert_array_equal(found.rows[:, 0], rows)
    assert found.times.span(len(found.rows)) == span
    assert found.series.times == found.times


@pytest.mark.parametrize(
    ("text", "form", "message"),
    [
        (DATA, Form(), "line 2: '2024-01-01' in column day.*name its column with --time"),
        (DATA, Form(time="date"), "has no column 'date'; it has day, level"),
        (GAP, Form(time="day"), r"data.csv: Row 3 .*2024-01-05.*with --every 1D; or.*leave --time out"),
        ("day,y\n2024-01-01,1\n,2\n", Form(time="day"), "line 3: the row has no time"),
        ("day,y\n2024-01-01,1\n1/2/24,2\n", Form(time="day"), "line 3: '1/2/24' is no time; write"),
        ("day,y\n2024-01-02,1\n2024-01-01,2\n", Form(time="day"), "earlier than row 1.*--every 1D"),
        ("day,y\n2024-01-01,1\n2024-01-01,2\n", Form(time="day"), "Row 2 .*the time of row 1"),
        (DATA, Form(time="day", every="1x"), "every is '1x', expected a step such as 1D"),
    ],
)
def test_times_that_cannot_be_used(tmp_path, text, form, message):
    with at_command_line(), pytest.raises(ValueError, match=message):
        read_csv(written(tmp_path, text), form=form)


def test_a_step_without_times():
    with pytest.raises(ValueError, match=r"--every is the step of times: give.*--time"):
        Form(every="1D")


def test_inputs_are_found_by_their_times(tmp_path):
    data = read_csv(written(tmp_path, GAP), form=Form(time="day", every="1D"))
    lines = [f"2024-01-{day:02d},{10 * day}" for day in range(9, 0, -1)]
    inputs = written(tmp_path, "\n".join(["day,u", *lines]), "u.csv")
    form = Form(time="day")
    found = read_inputs(inputs, form, data.times, range(5))
    np.testing.assert_array_equal(found[:, 0], [10, 20, 30, 40, 50])
    ahead = read_inputs(inputs, form, data.times, range(5, 8))  # of a forecast
    np.testing.assert_array_equal(ahead[:, 0], [60, 70, 80])
    with pytest.raises(ValueError, match=r"u.csv has no row at 2024-01-10: known inputs must be"):
        read_inputs(inputs, form, data.times, range(5, 10))
    one = written(tmp_path, "day,u\n2024-01-06,60\n", "one.csv")
    np.testing.assert_array_equal(read_inputs(one, form, data.times, [5]), [[60]])
    plain = written(tmp_path, "u\n1\n2\n3\n4\n5\n", "plain.csv")  # a line for each row
    assert read_inputs(plain, form, data.times, range(5)).shape == (5, 1)


@pytest.fixture
def problem(tmp_path):
    data = read_csv(written(tmp_path, DATA), form=Form(time="day"))
    prior = tsnl.Prior(Q=dist.LogNormal(0.0, 1.0))
    return Problem.of(tsnl.models.LinearGaussian(), prior, data.series)


@pytest.mark.parametrize(
    ("text", "rows", "said"),
    [
        ("day,level\n2024-01-05,5\n", [5], ""),
        ("day,level\n2024-01-07,7\n2024-01-09,9\n", [NAN, NAN, 7, NAN, 9], "2 rows are missing"),
        (DATA + "2024-01-05,5\n", [5], "The first 4 of 5 rows"),
    ],
)
def test_rows_that_follow_a_run(tmp_path, problem, capsys, text, rows, said):
    form = Form(time="day").stepping(problem.when)
    found = rows_after(problem, read_csv(written(tmp_path, text), form=form))
    np.testing.assert_array_equal(found[:, 0], rows)
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DATA, "All 4 rows are in the run already"),
        ("day,level\n2024-01-04,9\n2024-01-05,5\n", r"at 2024-01-04 is \[9.0\], and \[4.0\] in the run"),
        ("day,level\n2024-01-05 12:00,5\n", "begin at 2024-01-05 12:00, and the run has 2024-01-01 to"),
        ("day,level\n2023-12-31,5\n", "begin at 2023-12-31"),
    ],
)
def test_rows_that_do_not_follow_it(tmp_path, problem, text, message):
    data = read_csv(written(tmp_path, text), form=Form(time="day").stepping(problem.when))
    with pytest.raises(ValueError, match=message):
        rows_after(problem, data)
