from dataclasses import replace
from functools import cache
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from paper import LINEAR
from paper.problems import linear_reference
from tsnl import PMMH
from tsnl.methods.particle.budget import LEAST_RUNS
from tsnl.methods.particle.pilot import Particles
from tsnl.methods.particle.pmmh import rate, summary
from tsnl.models import LinearGaussian, LotkaVolterra
from tsnl.problem import Problem
from tsnl.runtime.progress import Silent
from tsnl.sampling.pseudo_marginal import Path

MODEL = LinearGaussian()
PRIOR = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
SERIES = MODEL.simulate(seed=1, length=20)
QUICK = PMMH(num_steps=60, num_warmup=40, num_chains=2, num_particles=20)
GRID = np.linspace(-9, 5, 1401)


@cache
def run(seed=0, **options):
    return tsnl.infer(MODEL, PRIOR, SERIES, replace(QUICK, **options), seed=seed, progress=False)


def distance(problem, z):
    """Total variation on 20 bins of equal exact mass; the noise of the draws is in it."""
    log_p = linear_reference(problem, GRID)
    cumulative = np.cumsum(np.exp(log_p - log_p.max()))
    level = np.interp(np.ravel(z), GRID, cumulative / cumulative[-1])
    shares = np.histogram(level, bins=20, range=(0, 1))[0] / level.size
    return 0.5 * np.abs(shares - 0.05).sum()


def test_what_it_returns():
    found = run()
    assert found.draws["Q"].shape == found.log_density.shape == (2, 60)
    assert (found.draws["Q"] > 0).all()
    assert np.isfinite(found.log_density).all()
    # starting points, search, pilot, estimates anew, warm-up, kept steps
    assert found.cost == 20 * 20 * (64 + 2 * 20 + 32 + 2 + 2 * 20 + 2 * 60)
    assert [r["stage"] for r in found.history] == ["search", "warm-up", "draw"]
    last = found.history[-1]
    assert last["cost"] == found.cost
    assert last["num_particles"] == 20
    assert 0 < last["acceptance"] < 1
    assert last["variance"] > 0
    assert len(last["acceptances"]) == 2
    assert found.status.startswith("finished: 2 chains of 60 steps with 20 particles, variance of the")
    assert f"used {found.cost:,} calls of the dynamics" in found.status
    assert "the chains mix poorly" in found.status
    assert found.posterior is None


def test_the_same_seed_gives_the_same_bits():
    again = run.__wrapped__()
    np.testing.assert_array_equal(run().draws["Q"], again.draws["Q"])
    np.testing.assert_array_equal(run().log_density, again.log_density)
    assert not np.array_equal(run().draws["Q"], run(seed=1).draws["Q"])


def test_comes_close_to_the_exact_posterior():
    found = run(num_steps=4000, num_warmup=400)
    assert distance(found.problem, np.log(found.draws["Q"])) < 0.1
    assert found.history[-1]["r_hat"] < 1.05


def test_saves_and_loads(tmp_path):
    run().save(tmp_path)
    again = tsnl.load(tmp_path)
    assert again.method == QUICK
    np.testing.assert_array_equal(again.draws["Q"], run().draws["Q"])
    assert again.status == run().status


class Counted(LinearGaussian):
    """Counts the calls of its dynamics, and how often it is compiled."""

    calls: ClassVar[list] = []
    traces: ClassVar[list] = []

    def sample_transition(self, key, state, theta, t, u):
        jax.debug.callback(lambda x: self.calls.append(1), state)
        return super().sample_transition(key, state, theta, t, u)

    def log_observation(self, y, state, theta, t, u):
        self.traces.append(1)
        return super().log_observation(y, state, theta, t, u)


def test_the_cost_is_the_calls_and_another_series_compiles_nothing():
    prior = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0), A=dist.Uniform(0.0, 1.0))
    problem = Problem.of(Counted(), prior, SERIES[:3])
    method = PMMH(num_steps=20, num_warmup=20, num_chains=2, num_particles=2)
    Counted.calls.clear()
    found = method.run(jax.random.key(0), problem, Silent())
    jax.effects_barrier()
    assert found.z.shape == (2, 20, 2)
    assert len(Counted.calls) == found.cost
    traces = len(Counted.traces)
    other = replace(problem, panel=(np.asarray(SERIES[5:8], dtype=float),))
    assert not np.array_equal(method.run(jax.random.key(1), other, Silent()).z, found.z)
    assert len(Counted.traces) == traces


def test_auto_finds_the_particles():
    found = run(num_particles="auto", max_cost=3_000_000)
    last = found.history[-1]
    assert 0.3 < last["variance"] < 2
    assert 8 <= last["num_particles"] <= 200
    assert found.cost <= 3_000_000
    assert "of 3,000,000 allowed" in found.status


def test_a_budget_shortens_the_chains():
    found = run(max_cost=500 * 400, num_steps=1000, num_warmup=500)
    assert 0.9 * 500 * 400 < found.cost <= 500 * 400
    assert found.draws["Q"].shape[0] == 2
    assert 100 < found.draws["Q"].shape[1] < 1000
    assert "(the budget did not allow 2 of 1,000)" in found.status


def test_a_budget_too_small_is_an_error():
    with pytest.raises(ValueError, match=r"max_cost is 23,999.*cost 24,000 calls.*lower num_particles"):
        run(max_cost=LEAST_RUNS * 400 - 1)


class Blind(LinearGaussian):
    """Nothing can be observed."""

    def log_observation(self, y, state, theta, t, u):
        return jnp.asarray(-jnp.inf)


class Walk(tsnl.StateSpaceModel):
    """It has no observation density."""

    scale: float = 0.3

    def sample_initial(self, key, theta):
        return jnp.ones(())

    def sample_transition(self, key, state, theta, t, u):
        return 0.9 * state + theta["scale"] * jax.random.normal(key)

    def sample_observation(self, key, state, theta, t, u):
        return state


def test_a_model_without_observation_density_is_named():
    prior = tsnl.Prior(scale=dist.LogNormal(-1.0, 0.5))
    with pytest.raises(TypeError, match=r"Walk has no log_observation\(y, state, theta, t, u\)"):
        tsnl.infer(Walk(), prior, SERIES, QUICK, seed=0)


def test_collapsed_filters_are_an_error():
    with pytest.raises(FloatingPointError, match="All 256 filters of 20 particles at prior draws coll"):
        tsnl.infer(Blind(), PRIOR, SERIES, QUICK, seed=0)


def test_chains_that_never_move_are_an_error():
    path = Path(np.zeros((2, 30, 1)), np.zeros((2, 30)), np.zeros((2, 30)))
    with pytest.raises(FloatingPointError, match=r"any of its 30 steps with 5 particles.*is 40"):
        summary(path, Particles(5, 40.0, ""), 0)


def test_missing_rows():
    series = SERIES.copy()
    series[[3, 4]] = np.nan
    found = QUICK.run(jax.random.key(0), Problem.of(MODEL, PRIOR, series), Silent())
    assert np.isfinite(found.z).all()
    model = LinearGaussian(A=0.9 * np.eye(2))
    partly = model.simulate(seed=0, length=20).copy()
    partly[7, 1] = np.nan
    with pytest.raises(ValueError, match=r"Row 7 of the series is missing only in part.*whole row NaN"):
        QUICK.run(jax.random.key(0), Problem(model, PRIOR, (partly,)), Silent())


@pytest.mark.slow
def test_dynamics_on_the_host():
    model = LotkaVolterra(dt=0.1)
    series = model.simulate(seed=0, length=5)
    prior = tsnl.Prior(rho3=dist.LogNormal(0.0, 0.5))
    found = tsnl.infer(model, prior, series, replace(QUICK, num_steps=20, num_warmup=20), seed=0)
    assert np.isfinite(found.log_density).all()


class Listener(Silent):
    def __init__(self):
        self.told = []

    def start(self, title, total):
        self.total = total

    def now(self, done, text):
        self.told.append((done, text))


def test_progress_is_told():
    listener = Listener()
    QUICK.run(jax.random.key(0), Problem.of(MODEL, PRIOR, SERIES), listener)
    done = [d for d, _ in listener.told]
    assert done == sorted(done)
    assert done[-1] == listener.total == 100
    assert listener.told[0][1].startswith("search   20 particles, acceptance 0.")


def test_rate_falls_with_noise_and_dimension():
    np.testing.assert_allclose(rate(1, 0.0), 0.44)
    assert rate(1, 0.0) > rate(4, 0.0) > rate(4, 1.0) > rate(4, 10.0) > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_steps": 5}, "num_steps is 5, expected at least 20"),
        ({"num_warmup": 0}, "num_warmup is 0, expected at least 20"),
        ({"num_chains": 0}, "num_chains is 0, expected at least 1"),
        ({"num_particles": 1}, "num_particles is 1, expected 'auto' or a number of at least 2"),
        ({"num_particles": "many"}, "num_particles is 'many', expected a whole number or one of"),
        ({"max_cost": 0}, "max_cost is 0, expected None or a positive number"),
    ],
)
def test_bad_options(options, message, unchecked):
    with pytest.raises(ValueError, match=message):
        PMMH(**options)


@pytest.mark.slow
def test_full_run_agrees_with_the_grid():
    """500 particles and 20,000 steps on the linear problem of the paper."""
    problem = LINEAR.observe(0)
    found = PMMH(num_particles=500, num_steps=5000).run(jax.random.key(0), problem, Silent())
    assert distance(problem, found.z) <= 0.05
