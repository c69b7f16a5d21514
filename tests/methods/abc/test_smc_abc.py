import json
from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tsnl
from tsnl import SMCABC
from tsnl.methods.abc.smc_abc import RESAMPLE, STRIDE
from tsnl.methods.abc.trials import Trials
from tsnl.store import codec


class Level(tsnl.StateSpaceModel):
    """Independent y_t ~ N(mu, 1): the mean is sufficient, the posterior is known."""

    mu: float = 0.5

    def sample_initial(self, key, theta):
        return jnp.zeros(())

    def sample_transition(self, key, state, theta, t, u):
        return state

    def sample_observation(self, key, state, theta, t, u):
        return theta["mu"] + jax.random.normal(key)


class Fragile(Level):
    """It fails above mu = 0.5."""

    def sample_observation(self, key, state, theta, t, u):
        return jnp.where(theta["mu"] > 0.5, jnp.nan, theta["mu"] + jax.random.normal(key))


class Broken(Level):
    def sample_observation(self, key, state, theta, t, u):
        return jnp.nan * theta["mu"]


LENGTH = 10
PRIOR = tsnl.Prior(mu=dist.Normal(0.0, 1.0))
SERIES = Level().simulate(seed=1, length=LENGTH)
POSTERIOR_MEAN, POSTERIOR_SD = SERIES.sum() / (LENGTH + 1), (LENGTH + 1) ** -0.5
QUICK = SMCABC(particles=100, summary_fn=np.mean, max_generations=3)


@cache
def run(seed=0, **options):
    return tsnl.infer(Level(), PRIOR, SERIES, replace(QUICK, **options), seed=seed, progress=False)


def cloud(result, i):
    return [result.arrays[f"generation{i}.{name}"] for name in ("z", "weights", "distances")]


@pytest.mark.parametrize("distance_weight", ["uniform", "gaussian"])
def test_it_converges_to_the_known_posterior(distance_weight):
    r"""Sufficient summary, small tolerance: the posterior, up to Monte Carlo error.

    The tolerance adds a variance of at most \(\epsilon^2 = 1/900\) to that of the mean of y, 1/10,
    which moves the sd of the posterior by less than 0.5 %. The rest is Monte Carlo: four standard
    errors at the effective sample size.
    """
    found = run(
        particles=400,
        min_tolerance=1 / 30,
        max_generations=30,
        stop="never",
        distance_weight=distance_weight,
    )
    assert "its tolerance reached min_tolerance" in found.status
    z, weights, _ = cloud(found, len(found.history) - 1)
    size = found.history[-1]["ess"]
    assert size > 130
    mean = weights @ z[:, 0]
    sd = np.sqrt(weights @ (z[:, 0] - mean) ** 2)
    assert abs(mean - POSTERIOR_MEAN) < 4 * POSTERIOR_SD / np.sqrt(size)
    assert abs(sd / POSTERIOR_SD - 1) < 4 / np.sqrt(2 * size) + 0.005
    draws = found.draws["mu"]
    assert draws.shape == (1, 400)
    assert abs(draws.mean() - mean) < 0.1 * sd


def test_the_rule_stops_by_itself():
    found = run(particles=300, max_generations=30)
    assert found.status.startswith("converged in generation")
    assert len(found.history) >= 3
    assert found.history[-1]["quantile"] > 0.99
    assert all(r["quantile"] <= 0.99 for r in found.history[2:-1])
    # what a uniform weight of that tolerance makes of the posterior: wider by at most its variance
    tolerance = found.history[-1]["tolerance"]
    widened = np.sqrt(POSTERIOR_SD**2 + tolerance**2 / 3)
    assert POSTERIOR_SD * 0.8 < found.draws["mu"].std() < widened * 1.2


def test_what_it_returns():
    found = run()
    assert found.status.startswith("finished: all 3 generations run; the draws are of generation 2")
    assert found.draws["mu"].shape == found.log_density.shape == (1, 100)
    assert np.isnan(found.log_density).all()
    assert found.posterior is None
    assert found.lag is None
    assert len(found.history) == 3
    assert (
        found.cost == found.history[-1]["cost"] == LENGTH * sum(r["simulations"] for r in found.history)
    )
    tolerances = [r["tolerance"] for r in found.history]
    assert (np.diff(tolerances) < 0).all()
    for i, record in enumerate(found.history):
        z, weights, distances = cloud(found, i)
        assert z.shape == (100, 1)
        assert weights.shape == distances.shape == (100,)
        np.testing.assert_allclose(weights.sum(), 1)
        np.testing.assert_allclose(record["ess"], 1 / (weights**2).sum())
        assert record["resampled"] == (record["ess"] < RESAMPLE * 100)
        assert (distances <= record["tolerance"]).all()
        assert record["c"] >= 1
        assert record["quantile"] == 1 / record["c"]
        assert record["seconds"] > 0
    assert set(np.unique(found.draws["mu"])) <= set(np.unique(cloud(found, 2)[0].astype(np.float32)))
    json.dumps(found.history)


def test_the_next_tolerance_is_the_quantile_of_the_accepted_distances():
    found = run()
    for i in range(2):
        _, weights, distances = cloud(found, i)
        order = np.argsort(distances)
        share = found.history[i]["quantile"]
        share = share if share <= 0.99 else STRIDE
        place = np.searchsorted(np.cumsum(weights[order]), share - 1e-9)
        assert found.history[i + 1]["tolerance"] == distances[order[place]]


def test_the_first_generation_is_the_closest_share():
    found = run(first_share=0.25)
    assert found.history[0]["simulations"] == 400
    assert found.history[0]["acceptance"] == 0.25


def test_the_same_seed_gives_the_same_bits():
    again = run.__wrapped__()
    np.testing.assert_array_equal(run().draws["mu"], again.draws["mu"])
    for name, value in run().arrays.items():
        np.testing.assert_array_equal(value, again.arrays[name])
    assert not np.array_equal(run().draws["mu"], run(seed=1).draws["mu"])


def test_it_simulates_in_batches(monkeypatch):
    sizes = []
    real = Trials.run
    monkeypatch.setattr(Trials, "run", lambda self, z: sizes.append(len(z)) or real(self, z))
    run.__wrapped__()
    assert sizes
    assert all(n % 64 == 0 for n in sizes)
    assert len(sizes) < 12


@given(st.integers(LENGTH, 30_000))
@settings(max_examples=8)
def test_it_stays_within_any_budget(max_cost):
    if max_cost < 2 * LENGTH:
        with pytest.raises(ValueError, match=r"prior simulations have no finite distance|max_cost"):
            run.__wrapped__(max_cost=max_cost)
        return
    found = run.__wrapped__(max_cost=max_cost, stop="never", max_generations=100)
    assert found.cost <= max_cost
    assert found.cost > max_cost - LENGTH or "max_cost" not in found.status
    assert np.isfinite(found.draws["mu"]).all()
    assert found.cost == found.history[-1]["cost"]


def test_a_used_up_budget_is_told_and_a_thin_last_generation_not_drawn_from():
    whole = run()
    found = run(max_cost=whole.cost - 200)
    assert "stopped in generation 2: max_cost" in found.status
    assert f"cost {found.cost:,}" in found.status
    last = found.history[-1]
    assert not last["complete"]
    assert np.isnan(last["c"])
    assert cloud(found, 2)[0].shape == (last["particles"], 1)
    used = 2 if last["ess"] >= 50 else 1
    assert f"the draws are of generation {used}" in found.status


def test_too_small_a_budget():
    with pytest.raises(ValueError, match=r"max_cost is 9, expected at least 10: one series"):
        run(max_cost=9)


def test_particles_follow_the_budget():
    assert SMCABC().num_particles(100) == 1000
    assert SMCABC(max_cost=10**6).num_particles(100) == 500
    assert SMCABC(max_cost=10**4).num_particles(100) == 100
    assert SMCABC(max_cost=10**4, particles=30).num_particles(100) == 30


def test_a_collapsed_acceptance_rate_ends_the_run_with_what_it_has():
    found = run(min_acceptance=0.5, max_generations=10, stop="never")
    assert "is below min_acceptance 0.5" in found.status
    last = len(found.history) - 1
    assert found.history[-1]["acceptance"] < 0.5
    assert not found.history[-1]["complete"]
    assert all(f"generation{i}.z" in found.arrays for i in range(last + 1))
    assert found.draws["mu"].shape[1] > 0


def test_an_unreachable_tolerance_ends_the_run():
    """The observed series cannot be had exactly: no candidate is accepted at a distance of zero."""

    def far(x, y):
        return 0.0 if x is y else float(np.random.default_rng(int(1e6 * abs(x[0, 0]))).uniform(1, 2))

    found = run(summary_fn=None, distance=far, min_acceptance=0.2, max_generations=20, stop="never")
    assert "min_acceptance" in found.status or "no smaller tolerance" in found.status
    assert np.isfinite(found.draws["mu"]).all()


def test_equal_distances_leave_no_smaller_tolerance():
    found = run(summary_fn=None, distance=lambda x, y: 1.0)
    assert "no smaller tolerance among its distances" in found.status


def test_failed_simulations_are_rejections():
    found = tsnl.infer(Fragile(), PRIOR, SERIES, QUICK, seed=0)
    assert all(r["failed"] > 0 for r in found.history)
    assert found.draws["mu"].max() <= 0.5
    assert sum(r["simulations"] for r in found.history) * LENGTH == found.cost


def test_a_simulator_that_always_fails_is_named():
    with pytest.raises(ValueError, match="500 of 500 prior simulations have no finite distance: check"):
        tsnl.infer(Broken(), PRIOR, SERIES, QUICK, seed=0)


@pytest.mark.parametrize("distance", ["standardised", lambda x, y: np.abs(x - y).mean()])
def test_other_distances(distance):
    found = run(distance=distance, summary_fn=None)
    assert len(found.history) == 3
    assert found.draws["mu"].std() < 1


def test_save_and_load(tmp_path):
    prior = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
    model = tsnl.models.LinearGaussian()
    series = model.simulate(seed=0, length=10)
    method = replace(QUICK, max_generations=1, distance="standardised")
    found = tsnl.infer(model, prior, series, method, seed=0)
    found.save(tmp_path / "run")
    again = tsnl.load(tmp_path / "run")
    np.testing.assert_array_equal(again.draws["Q"], found.draws["Q"])
    for name, value in found.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], value)
    assert again.history == found.history
    assert replace(again.method, summary_fn=np.mean) == method
    assert again.method.summary_fn == codec.Unsaved("mean")
    with pytest.raises(ValueError, match=r"'mean' was not saved with the run.*give the function anew"):
        again.method.summary_fn(series)
    again.save(tmp_path / "again")
    assert (tmp_path / "run/result.json").read_bytes() == (tmp_path / "again/result.json").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"particles": 5}, "particles is 5, expected None or a whole number from 10 on"),
        ({"distance_weight": "box"}, "distance_weight is 'box', expected one of"),
        ({"distance": "l1"}, "distance is 'l1', expected one of"),
        ({"summary_fn": 3}, "summary_fn is 3, expected a function"),
        ({"first_share": 0.0}, "first_share is 0.0, expected above 0 and at most 1"),
        ({"max_generations": 0}, "max_generations is 0, expected a whole number from 1 on"),
        ({"max_cost": 0}, "max_cost is 0, expected None or a whole number from 1 on"),
        ({"max_cost": 1e6}, "max_cost is 1000000.0, expected None or a whole number"),
        ({"particles": True}, "particles is True, expected None or a whole number"),
        ({"min_tolerance": float("nan")}, "min_tolerance is nan, expected at least 0"),
        ({"min_acceptance": 1.0}, "min_acceptance is 1.0, expected at least 0 and below 1"),
        ({"min_tolerance": -1.0}, "min_tolerance is -1.0, expected at least 0"),
        ({"stop": "now"}, "stop is 'now', expected 'converged' or 'never'"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        SMCABC(**options)
