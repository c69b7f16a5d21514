"""What a notebook shows: the same as a prompt, escaped, with nothing fetched."""

import re
from html.parser import HTMLParser

import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl.checks.verdict import Report, Verdict
from tsnl.evaluate.models import Comparison
from tsnl.posterior.evidence import Evidence
from tsnl.problem import Problem, as_series
from tsnl.runtime.html import COLOURS

EVIL = "<img src=x onerror=alert(1)>"
RNG = np.random.default_rng(0)
DAYS = [f"2024-01-{day:02d}" for day in range(1, 21)]
PRIOR = tsnl.Prior(Q=dist.LogNormal(0.0, 1.0))


def result():
    series = as_series(RNG.normal(size=20), time=DAYS)
    problem = Problem.of(tsnl.models.LinearGaussian(), PRIOR, series)
    return tsnl.Result(
        draws={"Q": np.exp(RNG.normal(size=(4, 100)))},
        log_density=np.zeros((4, 100)),
        cost=12_345,
        status=f"finished: {EVIL}",
        lag=None,
        history=[{}],
        arrays={},
        posterior=None,
        problem=problem,
        method=tsnl.RejectionABC(),
        seed=0,
    )


VERDICTS = [
    Verdict("sampler", "pass", "R-hat is 1.001.", "", {}),
    Verdict("lag", "look", f"Odd {EVIL}.", "Raise lag.", {}),
    Verdict("budget", "fail", "Too few.", "Simulate more.", {}),
]
TIMES = as_series(np.arange(20.0), time=DAYS).times
FORECAST = tsnl.Forecast(RNG.normal(size=(50, 30, 1)), np.zeros((20, 1)), "kernel", (EVIL,), TIMES)
EVIDENCES = {EVIL: Evidence(-10.0, 0.1, "kernel"), "b": Evidence(-12.0, 0.2, "kernel")}
COMPARISON = Comparison(EVIDENCES, {EVIL: 0.88, "b": 0.12}, {}, 10, (f"{EVIL}: careful.",))
SHOWN = {
    "result": (result, ["RejectionABC of LinearGaussian", "R-hat", "12,345 calls", "2024-01-20"]),
    "prior": (lambda: PRIOR, ["Prior of 1 parameter(s)", "LogNormal(loc=0, scale=1)"]),
    "checks": (
        lambda: Report(VERDICTS, 1990),
        ["✓ pass", "? look", "✕ fail", "Raise lag.", "1,990 calls"],
    ),
    "check": (lambda: VERDICTS[2], ["budget", "✕ fail", "Too few. Simulate more."]),
    "forecast": (lambda: FORECAST, ["2024-01-21", "q95", "10 more rows"]),
    "comparison": (lambda: COMPARISON, ["-10.00 ± 0.10", "0.880", "Bayes factors and scores"]),
}


class Tags(HTMLParser):
    """Every tag must be closed, in order."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen |= {tag}
        assert {name for name, _ in attrs} <= {"style", "class"}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_shows_it(name):
    make, words = SHOWN[name]
    page = make()._repr_html_()
    for word in words:
        assert word in page
    tags = Tags()
    tags.feed(page)
    assert not tags.open
    assert tags.seen <= {"div", "table", "tr", "th", "td", "b"}  # no script, no picture, no link
    assert "url(" not in page
    assert len(page) < 20_000


@pytest.mark.parametrize("name", ["result", "forecast", "comparison"])
def test_a_prompt_shows_the_same_table(name):
    shown = SHOWN[name][0]()
    page = re.sub(r"<[^>]*>", " ", shown._repr_html_())
    rows = repr(shown).splitlines()[:3]
    figures = re.findall(r"-?\d+\.\d+", " ".join(rows))
    assert figures
    assert all(figure in page for figure in figures)


def luminance(colour):
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("colour", COLOURS.values())
@pytest.mark.parametrize("paper", ["#ffffff", "#111111"])
def test_verdicts_can_be_read_on_light_and_dark_paper(colour, paper):
    one, other = sorted([luminance(colour), luminance(paper)])
    assert (other + 0.05) / (one + 0.05) > 3.5


def test_dates_are_saved_and_loaded(tmp_path):
    before = result()
    before.save(tmp_path / "run")
    after = tsnl.load(tmp_path / "run")
    assert after.problem.times == before.problem.times == (TIMES,)
    assert '"first": "2024-01-01' in (tmp_path / "run" / "result.json").read_text()
    FORECAST.save(tmp_path / "forecast.npz")
    assert tsnl.Forecast.load(tmp_path / "forecast.npz").dates == FORECAST.dates
    states = tsnl.States(np.zeros((2, 20, 1)), ("x",), "smooth", TIMES)
    states.save(tmp_path / "states.npz")
    assert tsnl.States.load(tmp_path / "states.npz").times == TIMES


def test_what_came_is_compared_by_its_dates():
    came = as_series([1.0, 2.0], time=["2024-01-21", "2024-01-22"])
    assert FORECAST.score(came).crps.shape == (2, 1)
    late = as_series([1.0, 2.0], time=["2024-01-22", "2024-01-23"])
    with pytest.raises(ValueError, match="begins at 2024-01-22, the forecast at 2024-01-21"):
        FORECAST.score(late)
