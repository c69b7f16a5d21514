"""The gallery: its data, its plain forecasts, its pages, and each analysis in short form."""

import csv
import json
import re
from dataclasses import replace

import numpy as np
import pytest

import tsnl
from examples.gallery import facts, kept, page, steps
from examples.gallery.analysis import FOLDER, Data
from examples.gallery.baselines import autoregression, seasonal_naive
from examples.gallery.earthquakes import compiled
from tsnl import MCMC, PMMH, SMCABC, TSNL, Training
from tsnl.kernel import Mixture

MADE = [name for name in kept.NAMES if kept.path_of(name).exists()]
ALL = pytest.mark.parametrize("name", kept.NAMES)
WRITTEN = pytest.mark.parametrize("name", MADE)
QUICK = TSNL(
    states=False,
    rounds=2,
    simulations=8,
    head=Mixture(num_components=2, width=4, depth=1),
    training=Training(num_members=2, min_steps=60, max_steps=60),
    sampler=MCMC(num_chains=4, num_warmup=100, num_draws=150, max_extensions=0),
)
RIVALS = {
    "PMMH": PMMH(num_steps=50, num_warmup=20, num_chains=2, num_particles=50),
    "SMCABC": SMCABC(particles=20, max_generations=2),
}


def walk(rng, rows=200, log=False):
    values = np.cumsum(rng.normal(size=(rows, 2)), axis=0) * 0.1
    return Data(np.arange(rows), "t", np.exp(values) if log else values, ("a", "b"), "", log)


@pytest.mark.parametrize("log", [False, True])
def test_plain_forecasts_cover_what_they_assume(log):
    rng, inside = np.random.default_rng(0), []
    for _ in range(40):
        data = walk(rng, log=log)
        draws = autoregression(data, data.rows[:190], 10, seed=0)
        low, high = np.quantile(draws, [0.05, 0.95], axis=0)
        inside.append(((low <= data.rows[190:]) & (data.rows[190:] <= high)).mean())
    se = np.std(inside) / np.sqrt(len(inside))
    assert abs(np.mean(inside) - 0.9) < 4.5 * se + 0.05  # the fitted persistence is a little too small


def test_naive_forecast_repeats_the_season_and_widens():
    season = np.tile(np.array([[0.0], [5.0], [1.0]]), (20, 1))
    noise = np.random.default_rng(0).normal(size=season.shape) * 0.1
    data = Data(np.arange(60), "t", season + noise, ("a",), "")
    draws = seasonal_naive(data, data.rows, 6, 3, seed=0)
    np.testing.assert_allclose(draws.mean(axis=0)[:3, 0], data.rows[-3:, 0], atol=0.05)
    assert (draws[:, 3:].std(axis=0) > 1.2 * draws[:, :3].std(axis=0)).all()


def test_counts_are_forecast_as_counts():
    data = Data(np.arange(30), "t", np.arange(30.0)[:, None] % 4, ("a",), "", log=True)
    draws = autoregression(data, data.rows, 5, seed=0)
    assert (draws == np.round(draws)).all()
    assert draws.min() >= 0


def test_every_data_file_has_a_source():
    text = (FOLDER / "SOURCES.md").read_text()
    named = set(re.findall(r"`(\w+\.csv)`", text))
    assert named == {path.name for path in FOLDER.glob("*.csv")}
    for path in FOLDER.glob("*.csv"):
        with path.open() as lines:
            head, *rows = csv.reader(lines)
        assert len({len(row) for row in [head, *rows]}) == 1


@ALL
def test_analyses_hold_out_rows_and_set_no_option(name):
    analysis = kept.analysis_of(name)
    assert analysis.name == name
    assert 0 < analysis.held_out < len(analysis.fitted)
    text = (page.TEMPLATES / f"{name}.md.jinja").read_text()
    assert "TSNL(" not in text  # the call is written by the shared part, with a budget alone


def test_the_program_counts_quakes(tmp_path):
    program = tsnl.Program([str(compiled(tmp_path))])
    theta = {"background": 10.0, "branching": 0.5, "delay": 0.5}
    counts = np.stack([program.simulate(seed=i, length=50, theta=theta) for i in range(40)])
    totals = counts.sum(axis=(1, 2))
    assert abs(totals.mean() - 50 * 10 / (1 - 0.5)) < 4.5 * totals.std() / np.sqrt(40)
    assert counts.var() > 1.5 * counts.mean()  # clustered: a Poisson count's variance is its mean


def test_a_page_is_out_of_date_when_its_code_changed(monkeypatch, tmp_path):
    monkeypatch.setattr(kept, "DOCS", tmp_path)
    assert not kept.current("nile")
    kept.save("nile", {"seed": 0})
    assert kept.current("nile")
    monkeypatch.setattr(kept, "mark", lambda name: "other")
    assert not kept.current("nile")


@WRITTEN
def test_pages_say_what_their_figures_say(name):
    assert (kept.DOCS / f"{name}.md").read_text() == page.page(name)
    assert (kept.DOCS / "index.md").read_text() == page.index(MADE)


@WRITTEN
def test_pictures_are_there_and_small(name):
    text = (kept.DOCS / f"{name}.md").read_text()
    pictures = re.findall(r"\]\((figures/[^)]*)\)", text)
    assert len(pictures) >= 4
    for picture in pictures:
        assert (kept.DOCS / picture).stat().st_size < 150_000


def test_sources_are_the_code_that_runs(tmp_path):
    file = tmp_path / "one.py"
    file.write_text("A = 1\n\n\nclass B:\n    c = 2\n\n\ndef d():\n    return 3\n")
    assert page.source(file, ("d", "A")) == "def d():\n    return 3\n\n\nA = 1"


@pytest.mark.parametrize(
    ("value", "text"), [(1234.6, "1,235"), (0.0123456, "0.0123"), (3.14159, "3.14")]
)
def test_numbers_have_three_digits(value, text):
    assert page.short(value) == text


@pytest.mark.parametrize("name", ["nile", pytest.param("earthquakes", marks=pytest.mark.slow)])
def test_a_few_rows_are_fitted_forecast_and_scored(name, tmp_path):
    """The two whose programs are quick to compile, on as many rows as other tests have."""
    analysis = kept.analysis_of(name)
    data = replace(analysis.data, rows=analysis.data.rows[:25], time=analysis.data.time[:25])
    analysis = replace(analysis, data=data, held_out=5)
    result, seconds = steps.timed(analysis.simulator, analysis, QUICK, tmp_path / "run")
    assert result.cost == 16 * 20
    assert seconds > 0
    draws = result.forecast(5, seed=0).draws
    assert draws.shape == (500, 5, 1)
    assert (draws == np.round(draws)).all() == (name == "earthquakes")
    assert set(steps.posterior(result)) == set(analysis.prior.labels)


@pytest.mark.slow
@ALL
@pytest.mark.filterwarnings("ignore:The log-evidence is off")  # of so few simulations
def test_analyses_run_in_short_form(name, tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "DOCS", tmp_path)
    monkeypatch.setattr(page, "DOCS", tmp_path)
    analysis = kept.analysis_of(name)
    analysis = analysis.short(16, RIVALS[type(analysis.rival).__name__])
    found = steps.run(analysis, tmp_path / "run", QUICK, replicates=99)
    kept.save(name, facts.facts(found))
    page.write_all([name])
    figures = json.loads(kept.path_of(name).read_text())
    assert figures["cost"] == 16 * len(analysis.fitted)
    assert "T-SNL" in (tmp_path / f"{name}.md").read_text()
    again = steps.timed(analysis.simulator, analysis, QUICK, tmp_path / "run" / "tsnl")[0]
    for label, draws in found.result.draws.items():
        np.testing.assert_array_equal(again.draws[label], draws)
