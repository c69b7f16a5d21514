from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl import MCMCABC
from tsnl.methods.abc.trials import Trials
from tsnl.methods.abc.walk import Walk
from tsnl.problem import Problem
from tsnl.sampling.diagnostics import ess
from tsnl.store import codec


class Level(tsnl.StateSpaceModel):
    """Independent y_t ~ N(mu, 1); it fails below mu = -2."""

    mu: float = 0.5

    def sample_initial(self, key, theta):
        return jnp.zeros(())

    def sample_transition(self, key, state, theta, t, u):
        return state

    def sample_observation(self, key, state, theta, t, u):
        return jnp.where(theta["mu"] < -2, jnp.nan, theta["mu"] + jax.random.normal(key))


LENGTH = 10
PRIOR = tsnl.Prior(mu=dist.Normal(0.0, 1.0))
SERIES = Level().simulate(seed=1, length=LENGTH)
POSTERIOR_MEAN, POSTERIOR_SD = SERIES.sum() / (LENGTH + 1), (LENGTH + 1) ** -0.5
QUICK = MCMCABC(
    num_chains=64, num_warmup=40, num_draws=60, pilot=640, pilot_share=0.2, summary_fn=np.mean
)


@cache
def run(seed=0, **options):
    return tsnl.infer(Level(), PRIOR, SERIES, replace(QUICK, **options), seed=seed, progress=False)


@pytest.mark.parametrize(
    ("distance_weight", "tolerance", "added"), [("uniform", 0.1, 0.01 / 3), ("gaussian", 0.06, 0.0036)]
)
def test_the_known_posterior_of_the_tolerance(distance_weight, tolerance, added):
    """A weight of variance v makes the mean of y one of variance 1/10 + v: again a known posterior."""
    found = run(distance_weight=distance_weight, tolerance=tolerance, num_draws=150)
    precision = 1 + 1 / (1 / LENGTH + added)
    mean, sd = SERIES.mean() * (precision - 1) / precision, precision**-0.5
    draws = found.draws["mu"]
    size = ess(draws[..., None])[0]
    assert size > 100
    assert abs(draws.mean() - mean) < 4 * sd / np.sqrt(size)
    assert abs(draws.std() / sd - 1) < 4 / np.sqrt(2 * size) + 0.01


def test_what_it_returns():
    found = run()
    assert found.status.startswith("finished: 64 chains of 60 draws; tolerance")
    assert (
        found.draws["mu"].shape == found.log_density.shape == found.arrays["distances"].shape == (64, 60)
    )
    assert np.isnan(found.log_density).all()
    assert found.posterior is None
    assert [r["phase"] for r in found.history] == ["pilot", "warm-up", "draws"]
    assert (
        found.cost == found.history[-1]["cost"] == LENGTH * sum(r["simulations"] for r in found.history)
    )
    assert found.history[0]["simulations"] == 640
    tolerance = found.history[0]["tolerance"]
    assert (found.arrays["distances"] <= tolerance).all()
    assert 0 < found.history[2]["acceptance"] < 1
    assert found.history[0]["failed"] > 0


def test_the_pilot_finds_the_tolerance():
    wide, narrow = (run(pilot_share=share).history[0]["tolerance"] for share in (0.2, 0.1))
    assert wide > narrow
    assert run(tolerance=1).history[2]["tolerance"] == 1.0


def test_a_step_that_the_prior_turns_down_is_not_simulated():
    found = run(tolerance=5.0)  # far away, where the prior decides
    assert found.history[2]["simulations"] < 0.97 * 64 * 60


def test_the_same_seed_gives_the_same_bits():
    np.testing.assert_array_equal(run().draws["mu"], run.__wrapped__().draws["mu"])
    assert not np.array_equal(run().draws["mu"], run(seed=1).draws["mu"])


def test_one_batch_for_each_step(monkeypatch):
    sizes = []
    real = Trials.run
    monkeypatch.setattr(Trials, "run", lambda self, z: sizes.append(len(z)) or real(self, z))
    run.__wrapped__()
    assert len(sizes) == 40 + 60
    assert max(sizes) <= 64


@pytest.mark.parametrize("max_cost", [2560, 5001, 20_000, 30_000])
def test_a_budget(max_cost):
    found = run(max_cost=max_cost)
    assert found.cost <= max_cost
    assert found.cost > max_cost - 64 * LENGTH
    assert f"max_cost {max_cost:,} is used up" in found.status
    assert found.draws["mu"].shape[1] >= 1


def test_too_small_a_budget():
    with pytest.raises(ValueError, match="max_cost is 2559, expected at least 2560 for 64 chains"):
        run(max_cost=2559)


def test_a_collapsed_acceptance_rate():
    found = run(tolerance=0.05, min_acceptance=0.3, num_warmup=100)
    assert "is below min_acceptance 0.3" in found.status
    assert 1 <= found.draws["mu"].shape[1] < 60


def walk(tolerance, distances):
    problem = Problem.of(Level(), PRIOR, SERIES)
    trials = Trials.of(jax.random.key(0), problem, "euclidean", np.mean, None)
    z = np.linspace(-1, 1, len(distances))[:, None]
    return Walk(np.random.default_rng(0), trials, "uniform", tolerance, z, np.array(distances))


def test_chains_outside_come_closer_and_are_moved_when_they_do_not():
    chains = walk(0.5, [0.1, 9.0, 9.0, 0.2])
    before = chains.distances
    chains.step(settled=False)
    assert (chains.distances <= np.maximum(before, 0.5)).all()
    chains = walk(0.5, [0.1, 9.0, 9.0, 0.2])
    assert chains.settle() == 2
    assert set(chains.z[[1, 2], 0]) <= set(chains.z[[0, 3], 0])
    assert (chains.distances <= 0.5).all()


def test_no_chain_within_the_tolerance():
    with pytest.raises(ValueError, match=r"No chain came within the tolerance 0.5 .* closest is at 2"):
        walk(0.5, [2.0, 3.0]).settle()


def test_too_few_finite_pilot_simulations():
    with pytest.raises(ValueError, match="Only 0 of 640 pilot simulations have a finite distance"):
        run(summary_fn=None, distance=lambda x, y: np.nan)


def test_the_status_tells_of_unhealthy_chains():
    assert "the chains mix poorly: R-hat" in run(tolerance=0.02, num_draws=10).status


def test_options_round_trip():
    for value in (MCMCABC(), MCMCABC(tolerance=1, distance_weight="gaussian", distance="standardised")):
        assert codec.decode(codec.encode(value)) == value


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_chains": 1}, "num_chains is 1, expected a whole number from 2 on"),
        ({"num_warmup": 0}, "num_warmup is 0, expected a whole number from 10 on"),
        ({"num_draws": 0}, "num_draws is 0, expected a whole number from 10 on"),
        ({"tolerance": 0.0}, "tolerance is 0.0, expected None or above 0"),
        ({"pilot": 10}, "pilot is 10, expected a whole number from num_chains on"),
        ({"pilot_share": 0.0}, "pilot_share is 0.0, expected above 0 and at most 1"),
        ({"distance_weight": "box"}, "distance_weight is 'box', expected one of"),
        ({"max_cost": -5}, "max_cost is -5, expected None or a whole number"),
        ({"min_acceptance": 1.0}, "min_acceptance is 1.0"),
        ({"distance": "l1"}, "distance is 'l1'"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        MCMCABC(**options)
