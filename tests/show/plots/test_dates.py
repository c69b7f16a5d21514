"""Dates along the horizontal axis, where the data have some."""

import matplotlib as mpl
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl.predict.forecast import Forecast
from tsnl.predict.states import States
from tsnl.problem import Problem
from tsnl.problem.steps import Step
from tsnl.problem.times import Times
from tsnl.show.plots import Bands, posterior_figure, replicates_figure, series_figure, windows_figure

mpl.use("Agg")
TIMES = Times(np.datetime64("2024-01-29", "us"), Step.of("1D"))
YEARS = Times(1990.0, Step(1, ""))
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(20, 1))
DRAWS = RNG.normal(size=(40, 20, 1))


def problem(times):
    prior = tsnl.Prior(Q=dist.LogNormal(0.0, 1.0))
    return Problem(tsnl.models.LinearGaussian(), prior, (ROWS,), times=(times,) if times else ())


def replicates(times):
    bands = Bands([1, 5, 9], np.sort(RNG.normal(size=(4, 3, 1)), axis=0), ("level",))
    return replicates_figure(ROWS, bands, {"mean": 0.0}, {"mean": (-1.0, 1.0)}, times=times)


FIGURES = {
    "series": lambda times: series_figure(ROWS, DRAWS, surprising=[3], times=times),
    "posterior": lambda times: posterior_figure(problem(times), {"Q": RNG.normal(size=(2, 100))}),
    "forecast": lambda times: Forecast(DRAWS[:, :4], ROWS, "kernel", (), times).plot(ROWS[:2]),
    "states": lambda times: States(DRAWS, ("x",), "smooth", times).plot(),
    "replicates": replicates,
    "windows": lambda times: windows_figure(
        range(4, 9), [0.1, 0.2, 2.0, 0.3, 0.1], {"50": 0.5, "90": 0.9, "99": 1.2}, times=times
    ),
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_axis_has_dates(name):
    figure = FIGURES[name](TIMES)
    axes = figure.axes[0]
    assert axes.get_xlabel() == "date"
    figure.canvas.draw()
    labels = [tick.get_text() for tick in axes.get_xticklabels()] + [
        axes.xaxis.get_offset_text().get_text()
    ]
    assert any("Feb" in label for label in labels)
    x = axes.lines[-1].get_xdata()
    assert np.asarray(x).dtype.kind == "M"


@pytest.mark.parametrize(("times", "label", "first"), [(None, "t", 1), (YEARS, "time", 1990)])
@pytest.mark.parametrize("name", ["series", "posterior", "states"])
def test_rows_that_are_counted(name, times, label, first):
    axes = FIGURES[name](times).axes[0]
    assert axes.get_xlabel() == label
    assert min(float(line.get_xdata()[0]) for line in axes.lines) == first


def test_a_forecast_goes_on_with_the_dates():
    axes = FIGURES["forecast"](TIMES).axes[0]
    held_out = axes.lines[-1].get_xdata()
    assert [str(day)[:10] for day in held_out] == ["2024-02-18", "2024-02-19"]
