"""The zoo: every entry can be simulated and has a reference of its own series."""

from collections import Counter

import jax
import numpy as np
import pytest

import tsnl
from benchmarks.zoo import ZOO
from benchmarks.zoo.forms import as_form
from benchmarks.zoo.references import MAX_R_HAT, MIN_ESS, load
from benchmarks.zoo.run import append, measure, method_for, read
from benchmarks.zoo.table import by_chance, collect, markdown, summarise
from tsnl.simulation import simulate

MAY_FAIL = {"predator_prey"}  # past its cap of events a path is NaN
NUM_DRAWS = 20


def test_both_halves_are_wide():
    halves = Counter(entry.half for entry in ZOO.values())
    assert min(halves["tune"], halves["report"]) >= 7
    assert halves["paper"] == 3
    assert len(ZOO) - 3 >= 14


@pytest.mark.parametrize("name", ZOO)
def test_series(name):
    entry = ZOO[name]
    assert entry.series.shape[0] == entry.length
    assert np.isfinite(entry.series).all()
    assert (entry.series.std(axis=0) > 0).all()
    assert set(entry.prior.names) <= set(entry.model.parameters)
    assert np.isfinite(entry.prior.unconstrain(entry.truth)).all()
    assert entry.model.has_density
    assert entry.citation


@pytest.mark.slow
@pytest.mark.parametrize("name", ZOO)
def test_prior_draws_simulate(name):
    entry = ZOO[name]
    theta = {k: np.asarray(v) for k, v in entry.prior.sample(jax.random.key(3), NUM_DRAWS).items()}
    found = simulate(jax.random.key(4), entry.model, theta, entry.length, inputs=entry.inputs)
    assert found.series.shape[:2] == (NUM_DRAWS, entry.length)
    assert name in MAY_FAIL or np.isfinite(found.series).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ZOO)
def test_reference(name):
    entry, found = ZOO[name], load(name)  # which compares model and prior
    np.testing.assert_array_equal(found.series, entry.series)
    n, size = found.draws.shape
    assert size == entry.prior.size
    assert n >= MIN_ESS
    assert len(np.unique(found.draws, axis=0)) == n
    assert found.r_hat.max() < MAX_R_HAT
    assert found.ess.min() >= MIN_ESS
    prior = entry.prior.sample_unconstrained(jax.random.key(0), 1000)
    assert (found.draws.std(axis=0) < 1.1 * prior.std(axis=0)).all()
    off = np.asarray(entry.prior.unconstrain(entry.truth)) - found.draws.mean(axis=0)
    assert (np.abs(off) < 4 * found.draws.std(axis=0)).all()


def test_measures_of_equal_and_of_shifted_draws(monkeypatch):
    monkeypatch.setattr("benchmarks.zoo.run.c2st", lambda p, q: 0.5)  # slow
    draws = np.random.default_rng(0).normal(size=(500, 2))
    same = measure(draws, draws)
    assert same["sliced_wasserstein"] == pytest.approx(0)
    assert same["worst_sd_ratio"] == pytest.approx(1)
    far = measure(draws, 2 * draws + draws.std(axis=0) * np.array([0.0, 3.0]))
    assert far["worst_bias"] == pytest.approx(3, abs=0.1)
    assert far["worst_sd_ratio"] == pytest.approx(2)


def test_method_has_the_budget():
    method = method_for(500)
    assert isinstance(method, tsnl.TSNL)
    assert sum(method.sizes) == 500


@pytest.mark.parametrize("name", ["poisson_ar", "reservoir"])
def test_forms_are_the_same_simulator(name):
    entry = ZOO[name]
    kwargs = {"seed": 3, "length": entry.length, "inputs": entry.inputs, "theta": entry.truth}
    right = entry.model.simulate(**kwargs)
    unseen = as_form(entry.model, "unseen")
    assert not unseen.has_density
    np.testing.assert_array_equal(unseen.simulate(**kwargs), right)
    box = as_form(entry.model, "box")
    assert not isinstance(box, tsnl.StateSpaceModel)
    np.testing.assert_allclose(box.simulate(**kwargs).mean(), right.mean(), atol=2 * right.std())
    assert as_form(entry.model, "model") is entry.model


def test_table(tmp_path):
    path = tmp_path / "trials.csv"
    figures = {"c2st": 0.6, "worst_bias": 0.1, "worst_sd_ratio": 1.1, "seconds": 2.0}
    for name, half, simulations, distance in (
        ("ricker", "report", 500, 0.4),
        ("ricker", "report", 10_000, 0.2),
        ("shares", "report", 500, 0.3),
    ):
        row = {"name": name, "half": half, "form": "model", "simulations": simulations, "seed": 0}
        append(path, row | figures | {"sliced_wasserstein": distance})
    failed = {"name": "shares", "half": "report", "form": "model", "simulations": 10_000, "seed": 0}
    append(path, failed | {"error": "bad"})
    cells = collect(read(path))
    assert "| report | shares | model | 10,000 | failed |" in markdown(cells)
    assert 0.02 < by_chance("shares") < 0.15  # 1,844 draws: about one over the root of half as many
    summary = summarise(cells)["report"]["model"]
    assert summary["500"]["median_sliced_wasserstein"] == pytest.approx(0.35)
    assert summary["10000"]["failures"] == 1
    assert summary["10000"]["worst_sliced_wasserstein"] is None  # not a number: it failed
    assert summary["better_at_10000_than_at_500"] == "1 of 2"
