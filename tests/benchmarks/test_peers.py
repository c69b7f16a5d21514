"""Other packages are asked the same question: the same prior, the same laws, rows that add up."""

import jax
import numpy as np
import pytest
from scipy.special import ndtr

from benchmarks.growth import exponent
from benchmarks.peers.page import better, collect, near
from benchmarks.peers.particle_models import MODELS
from benchmarks.peers.problems import EARTHQUAKES, QUAKES, question
from benchmarks.peers.table import METHODS, NAMES, Trial, key_of, read, trials, write
from benchmarks.peers.whiten import to_theta, to_z

VECTORS = {"linear", "volatility"}  # whose laws take vectors


@pytest.mark.parametrize("name", ["zero_inflated", "volatility"])  # all kinds of laws
def test_whitened_prior(name):
    asked = question(name, 0)
    w = np.random.default_rng(0).normal(size=(5, asked.prior.size))
    theta, z = to_theta(asked.laws, w), to_z(asked.laws, w)
    for i, (names, law) in enumerate(asked.prior.distributions):
        value = theta[names[0]]
        expected = (1 + value) / 2 if name == "volatility" else law.cdf(value)  # LKJ(2, 1) is uniform
        np.testing.assert_allclose(expected, ndtr(w[:, i]), atol=1e-5)
        same = np.stack([np.asarray(asked.prior.constrain(row)[names[0]]) for row in z])
        same = same[:, 1, 0] if name == "volatility" else same
        np.testing.assert_allclose(same, value, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_particle_models_have_the_same_density(name):
    start, move, density = MODELS[name]
    asked, rng = question(name, 0), np.random.default_rng(1)
    w = 0.3 * rng.normal(size=(1, asked.prior.size))
    theta = {key: value[0] for key, value in to_theta(asked.laws, w).items()}
    x = move(theta, start(theta, 3, rng), 1, rng)
    found = density(theta, asked.series[0].squeeze().astype(float), x)
    full = asked.model.complete(asked.prior.constrain(to_z(asked.laws, w)[0]))
    y, x = (asked.series[0], x.reshape(3, -1)) if name in VECTORS else (asked.series[0, 0], x)
    expected = [
        asked.model.log_observation(jax.numpy.asarray(y), jax.numpy.asarray(one), full, 1, None)
        for one in x
    ]
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-3)


def test_real_series():
    assert len(QUAKES) == EARTHQUAKES.length == 107
    assert question("earthquakes", 2).reference.shape[1] == 4


def test_the_most_telling_trials_come_first():
    every = list(trials(list(METHODS), ["linear", "seir"], [1000, 100, 10_000], 2))
    assert len(every) == len(set(every))
    methods = sum(map(len, METHODS.values()))
    assert {(t.budget, t.seed) for t in every[: 2 * methods]} == {(1000, 0)}
    assert not any(t.package == "particles" and t.budget == 100 for t in every)


def test_rows_are_found_again(tmp_path):
    path, trial = tmp_path / "trials.csv", Trial("sbi", "NPE", "linear", 100, 0)
    write(path, [vars(trial) | {"error": "no"}], "a")
    write(path, [vars(trial) | {"seed": 1}], "a")
    assert [key_of(row) for row in read(path)] == [
        ("sbi", "NPE", "linear", "100", "0"),
        ("sbi", "NPE", "linear", "100", "1"),
    ]


def row(package, method, budget, distance, error=""):
    figures = {"sliced_wasserstein": distance, "c2st": "0.6", "cpu_seconds": "7", "simulations": budget}
    facts = {"package": package, "method": method, "problem": "linear", "budget": budget, "seed": "0"}
    return facts | figures | {"peak_mb": "1", "error": error}


def test_page_says_who_is_nearer_and_counts_failures_as_far():
    rows = [row("tsnl", "TSNL", "100", "0.4"), row("tsnl", "TSNL", "1000", "0.2")]
    rows += [row("sbi", "NPE", "100", "0.3"), row("sbi", "NPE", "1000", "", "broke")]
    cells = collect(rows)
    assert "linear at 100 (0.3 against 0.4)" in better(cells)
    assert "1,000" not in better(cells)
    assert "no rows" in better(collect(rows[2:]))
    ours, theirs = near(cells).splitlines()[2:]
    assert ours == "| tsnl TSNL | 1,000; 7 s |"
    assert theirs == "| sbi NPE | not by 1,000 |"


def test_exponent():
    values = np.array([1.0, 10.0, 100.0, 1000.0])
    assert exponent(values, 1 + values**2) == pytest.approx(2, abs=0.01)
    assert exponent(values[:1], values[:1]) is None
