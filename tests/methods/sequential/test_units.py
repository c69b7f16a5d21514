"""Units from the simulations, and runs that wild simulations cannot take down."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl import MCMC, TSNL, Training
from tsnl.kernel import KernelSpec, Lags, Mixture, Scaling
from tsnl.kernel.scaling import fit_profile, is_stationary
from tsnl.methods.sequential.extremes import count_extreme
from tsnl.methods.sequential.simulated import Simulated
from tsnl.methods.sequential.units import Gain, _candidates
from tsnl.problem import Problem

QUICK = TSNL(
    states=False,
    rounds=2,
    simulations=8,
    head=Mixture(num_components=2, width=4, depth=1),
    training=Training(num_members=2, min_steps=60, max_steps=60),
    sampler=MCMC(num_chains=4, num_warmup=100, num_draws=150, max_extensions=0),
)
ONE = jnp.ones(1)
SCALING = Scaling(ONE, 0 * ONE, ONE, 0 * ONE, ONE, "none")


def spec(d_y=1, integer=()):
    return KernelSpec(Mixture(), (Lags(1),), d_y, 0, 1, 2, integer=integer)


@pytest.mark.parametrize(
    ("low", "high", "integer", "names"),
    [
        (-1.0, 1.0, False, ["asinh"]),
        (0.5, 9.0, False, ["asinh", "log"]),
        (0.1, 0.9, False, ["asinh", "log", "logit"]),
        (1.0, 9.0, True, ["asinh"]),
    ],
)
def test_transforms_that_the_values_allow(low, high, integer, names):
    series = np.linspace(low, high, 12).reshape(2, 6, 1)
    found = _candidates(spec(integer=(integer,)), series[0], series)
    assert found == [((0,), names)]


def test_a_transform_has_to_be_clearly_better_than_none():
    rng, nothing = np.random.default_rng(0), np.full(1, np.nan)
    none = rng.normal(size=50)
    noise = rng.normal(size=50)
    same, better = Gain.of(none + noise - noise.mean(), none), Gain.of(none + noise + 3.0, none)
    assert not same.is_clear
    assert better.is_clear
    np.testing.assert_allclose(better.error, noise.std(ddof=1) / np.sqrt(50))
    assert str(better) == f"{3 + noise.mean():+.2f} ± {better.error:.2f} nats"
    assert Gain.of(none, nothing).is_clear  # training diverged without it
    assert not Gain.of(nothing, none).is_clear
    assert not Gain.of(nothing, nothing).is_clear
    assert str(Gain.of(nothing, none)) == "diverged"


def test_a_result_says_which_transform_and_why(tmp_path):
    def powers(rng, theta):
        return np.exp(theta["scale"] * rng.normal(size=20))

    prior = tsnl.Prior(scale=dist.LogNormal(0.0, 0.5))
    series = powers(np.random.default_rng(0), {"scale": 3.0})
    result = tsnl.infer(powers, prior, series, QUICK, seed=0, progress=False)
    name, why = result.transforms["y"]
    assert name == result.posterior.kernel.scaling.names()[0]
    assert "asinh" in why
    assert "log " in why
    result.save(tmp_path)
    assert tsnl.load(tmp_path, model=powers).transforms == result.transforms
    report = result.report(tmp_path / "report.html", checks=result.check(num_replicates=0, refit=False))
    assert f"{name}: {why}" in report.read_text(encoding="utf-8")
    set_ = replace(QUICK, transform="asinh", rounds=1)
    told = tsnl.infer(powers, prior, series, set_, seed=0, progress=False)
    assert told.transforms == {"y": ("asinh", "as the option says")}


def test_a_mean_that_moves_along_time_is_seen():
    rng = np.random.default_rng(0)
    still = rng.normal(size=(40, 30, 1))
    assert is_stationary(SCALING, still)
    moving = still + np.sin(np.arange(30))[:, None]
    assert not is_stationary(SCALING, moving)
    found = fit_profile(SCALING, moving)
    assert found.profile.shape == (30, 2)
    assert np.corrcoef(found.profile[:, 0], np.sin(np.arange(30)))[0, 1] > 0.9
    known = found.standardise_u(jnp.zeros((5, 0)), 28)
    np.testing.assert_allclose(known[:2], found.profile[28:], rtol=1e-6)
    np.testing.assert_array_equal(known[2:], 0.0)  # beyond what was simulated


def wild(rng, theta):
    """Now and then far beyond what 32 bit can square."""
    y = theta["scale"] * rng.normal(size=20)
    if rng.uniform() < 0.3:
        y[rng.integers(20)] = 10.0 ** rng.uniform(10, 37)
    return y


def test_extreme_simulations_neither_diverge_nor_dominate():
    prior = tsnl.Prior(scale=dist.LogNormal(0.0, 0.5))
    series = np.random.default_rng(0).normal(size=20)
    with pytest.warns(UserWarning, match=r"last round have values.*return NaN or raise"):
        result = tsnl.infer(wild, prior, series, QUICK, seed=0, progress=False)
    assert 0 < result.history[-1]["extreme"] <= 8
    count, rows = result.history[-1]["extreme"], result.history[-1]["extreme_rows"]
    assert f"{count} simulations of the last round have extreme values, in {rows} rows" in result.status
    assert np.isfinite(result.draws["scale"]).all()
    assert 0.3 < result.draws["scale"].mean() < 3.0


def test_values_far_from_zero_are_not_extreme():
    """It is from the middle of all that they are far, in spreads."""
    problem = Problem.of(wild, tsnl.Prior(scale=dist.LogNormal(0.0, 0.5)), np.arange(20.0))
    series = 1e9 + np.random.default_rng(0).normal(size=(8, 20, 1))
    simulated = Simulated.none(problem, 8).added(np.zeros((8, 1)), series, 160)
    scaling = SCALING
    assert count_extreme(spec(), scaling, simulated) == {"extreme": 0, "extreme_rows": 0}
    series[2, 3:5] += 200.0
    simulated = Simulated.none(problem, 8).added(np.zeros((8, 1)), series, 160)
    assert count_extreme(spec(), scaling, simulated) == {"extreme": 1, "extreme_rows": 2}


class Forced(tsnl.StateSpaceModel):
    sd: float = 0.3

    def sample_initial(self, key, theta):
        return jnp.zeros(())

    def sample_transition(self, key, x, theta, t, u):
        return jnp.cos(1.2 * t)

    def sample_observation(self, key, x, theta, t, u):
        return 2.0 * x + theta["sd"] * jax.random.normal(key)


@pytest.mark.slow
def test_a_forced_series_streams_and_forecasts_with_its_profile(tmp_path):
    rows = Forced().simulate(seed=1, length=22).astype(float)
    prior = tsnl.Prior(sd=dist.LogNormal(-1.0, 0.5))
    result = tsnl.infer(Forced(), prior, rows[:20], QUICK, seed=0, progress=False)
    assert result.posterior.kernel.spec.profile == (20, 2)
    result.save(tmp_path)
    again = tsnl.load(tmp_path, model=Forced())
    z = jnp.zeros(1)
    assert again.posterior(z) == result.posterior(z)
    stream = result.posterior.update(rows[20:], num_particles=50)
    np.testing.assert_allclose(stream.posterior(z), result.posterior.given((rows,))(z), rtol=1e-5)
    assert np.isfinite(result.forecast(3, seed=0, num_draws=20).draws).all()
