from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

import tsnl
from tsnl import RejectionABC
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
QUICK = RejectionABC(draws=200, summary_fn=np.mean, fraction=0.05)


@cache
def run(seed=0, **options):
    return tsnl.infer(Level(), PRIOR, SERIES, replace(QUICK, **options), seed=seed, progress=False)


@pytest.mark.parametrize("options", [{"fraction": 0.02}, {"fraction": None, "tolerance": 0.05}])
def test_the_known_posterior(options):
    """The tolerance widens the sd by under 1 %; independent draws, so a Kolmogorov-Smirnov test."""
    found = run(draws=300, **options)
    assert found.history[0]["tolerance"] < 0.06
    exact = stats.norm(SERIES.sum() / (LENGTH + 1), (LENGTH + 1) ** -0.5)
    assert stats.kstest(found.draws["mu"][0], exact.cdf).pvalue > 1e-3


def test_by_fraction():
    found = run()
    assert found.status.startswith("finished: the closest 200 of 4,000 prior simulations; tolerance")
    (record,) = found.history
    assert (record["simulations"], record["particles"], record["acceptance"]) == (4000, 200, 0.05)
    assert found.cost == record["cost"] == 4000 * LENGTH
    assert record["failed"] == pytest.approx(4000 * stats.norm.cdf(-2), abs=4 * np.sqrt(4000 * 0.023))
    assert found.arrays["distances"].max() == record["tolerance"]
    assert found.draws["mu"].shape == found.log_density.shape == (1, 200)
    assert np.isnan(found.log_density).all()
    assert found.posterior is None


def test_by_tolerance():
    found = run(fraction=None, tolerance=0.2)
    assert found.status.startswith("finished: 200 draws within the tolerance; tolerance 0.2")
    assert (found.arrays["distances"] <= 0.2).all()
    assert found.history[0]["simulations"] % 64 == 0
    wide, narrow = (run(fraction=None, tolerance=t).history[0]["acceptance"] for t in (0.4, 0.1))
    assert wide > narrow


def test_one_percent_by_default():
    assert run(fraction=None, draws=10).history[0]["simulations"] == 1000


def test_the_same_seed_gives_the_same_bits():
    np.testing.assert_array_equal(run().draws["mu"], run.__wrapped__().draws["mu"])
    assert not np.array_equal(run().draws["mu"], run(seed=1).draws["mu"])


def test_a_budget():
    found = run(max_cost=10_005)
    assert found.cost == 10_000
    assert found.status.startswith("stopped: max_cost 10,005 is used up: the closest 50 of 1,000 prior")
    assert found.draws["mu"].shape == (1, 50)
    found = run(max_cost=10_005, fraction=None, tolerance=0.1)
    assert found.cost == 10_000
    assert "of 200 draws: max_cost 10,005 is used up" in found.status
    assert found.draws["mu"].shape[1] == found.history[0]["particles"] < 200
    assert run(max_cost=10).draws["mu"].shape == (1, 1)


def test_a_collapsed_acceptance_rate():
    found = run(fraction=None, tolerance=0.01, min_acceptance=0.05)
    assert "is below min_acceptance 0.05" in found.status
    assert found.history[0]["particles"] == found.draws["mu"].shape[1]


def test_nothing_within_the_tolerance():
    with pytest.raises(ValueError, match=r"came within the tolerance 0; the closest is at .* Raise"):
        run(fraction=None, tolerance=0, max_cost=10_000)


def test_nothing_finite():
    with pytest.raises(ValueError, match="None of 4000 prior simulations has a finite distance: check"):
        run(summary_fn=None, distance=lambda x, y: np.nan)


def test_standardised_distances_are_of_the_first_batch():
    found = run(distance="standardised", summary_fn=None, draws=50)
    assert np.isfinite(found.arrays["distances"]).all()


def test_options_round_trip():
    for value in (RejectionABC(), RejectionABC(tolerance=1, max_cost=10**6, distance="standardised")):
        assert codec.decode(codec.encode(value)) == value


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": 1.0, "fraction": 0.1}, "tolerance is 1.0 and fraction is 0.1, expected one of"),
        ({"draws": 0}, "draws is 0, expected a whole number from 1 on"),
        ({"tolerance": -1.0}, "tolerance is -1.0, expected None or at least 0"),
        ({"fraction": 0.0}, "fraction is 0.0, expected None, or above 0 and at most 1"),
        ({"max_cost": 0}, "max_cost is 0"),
        ({"min_acceptance": 2.0}, "min_acceptance is 2.0"),
        ({"distance": "l1"}, "distance is 'l1'"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        RejectionABC(**options)
