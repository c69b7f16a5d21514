from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from paper import LINEAR
from paper.problems import linear_reference
from tsnl import MCMC, TSNL, Training
from tsnl.evaluate.metrics import total_variation
from tsnl.kernel import MAF, Mixture
from tsnl.models import LinearGaussian, LotkaVolterra
from tsnl.problem import Problem
from tsnl.runtime.progress import Silent

MODEL = LinearGaussian()
PRIOR = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
SERIES = MODEL.simulate(seed=1, length=20)
QUICK = TSNL(
    states=False,
    rounds=2,
    simulations=8,
    head=Mixture(num_components=2, width=4, depth=1),
    training=Training(num_members=2, min_steps=60, max_steps=60),
    sampler=MCMC(num_chains=4, num_warmup=100, num_draws=150, max_extensions=0),
)
ONE_ROUND = {"rounds": 1, "simulations": 16}  # of the same shapes: compiled once


@cache
def run(seed=0, **options):
    return tsnl.infer(MODEL, PRIOR, SERIES, replace(QUICK, **options), seed=seed, progress=False)


def test_what_it_returns():
    result = run()
    assert result.draws["Q"].shape == result.log_density.shape == (4, 150)
    assert (result.draws["Q"] > 0).all()
    assert np.isfinite(result.log_density).all()
    assert result.cost == 2 * 8 * 20
    assert result.lag == (4, "as the option says")
    assert result.seed == 0
    assert result.status.startswith("finished: all 2 rounds run")
    assert [r["cost"] for r in result.history] == [160, 320]
    assert [r["failed"] for r in result.history] == [0, 0]
    assert np.isnan(result.history[0]["shift"])
    assert result.history[1]["shift"] >= 0
    assert set(result.history[0]["seconds"]) == {"simulate", "train", "sample"}


def test_log_density_is_the_posterior_of_the_draws():
    result = run()
    z = jnp.log(jnp.asarray(result.draws["Q"][:, :5].ravel()))
    found = jax.jit(jax.vmap(result.posterior.log_density))(z[:, None])
    np.testing.assert_allclose(found, result.log_density[:, :5].ravel(), atol=2e-3)
    q = float(jnp.exp(z[0]))
    alone = jax.jit(lambda q: result.posterior.log_prob({"Q": q}))(q)
    np.testing.assert_allclose(alone, found[0] - z[0], atol=2e-3)


def test_the_same_seed_gives_the_same_bits():
    again = run.__wrapped__()
    np.testing.assert_array_equal(run().draws["Q"], again.draws["Q"])
    np.testing.assert_array_equal(run().log_density, again.log_density)


def test_another_seed_gives_other_draws():
    assert not np.array_equal(run().draws["Q"], run(seed=1).draws["Q"])


@pytest.mark.parametrize("strategy", ["last", "best"])
def test_strategies_learn_from_other_simulations(strategy):
    found = run(strategy=strategy)
    assert found.cost == run().cost
    assert found.history[0]["loss"] == run().history[0]["loss"]  # there is nothing to choose from yet
    assert found.history[1]["loss"] != run().history[1]["loss"]


def test_stops_when_converged(monkeypatch):
    monkeypatch.setattr("tsnl.methods.sequential.rounds.CONVERGED", 1e6)
    found = run.__wrapped__(rounds=4, simulations=4, stop="converged")
    assert len(found.history) == 2
    assert found.cost == 2 * 4 * 20
    assert "converged after round 2 of 4" in found.status


def test_does_not_stop_while_it_moves(monkeypatch):
    monkeypatch.setattr("tsnl.methods.sequential.rounds.CONVERGED", 0.0)
    assert len(run.__wrapped__(stop="converged").history) == 2


def test_the_status_tells_of_unhealthy_chains():
    sampler = replace(QUICK.sampler, max_r_hat=0.5)
    assert "the chains mix poorly: R-hat" in run(**ONE_ROUND, sampler=sampler).status


@pytest.mark.slow
def test_lag_by_autocorrelation():
    lag, reason = run(**ONE_ROUND, lag="acf").lag
    assert 1 <= lag <= 5
    assert "autocorrelation" in reason


def test_one_simulation_is_enough_to_run():
    found = run(rounds=1, simulations=1)
    assert np.isfinite(found.draws["Q"]).all()
    assert found.cost == 20


@pytest.mark.usefixtures("unchecked")
def test_an_affine_flow_of_scalar_y_warns(monkeypatch):
    monkeypatch.setattr("tsnl.methods.sequential.rounds.run", lambda *_: None)  # it warns before
    with pytest.warns(UserWarning, match="affine MAF can only be a Gaussian"):
        replace(QUICK, head=MAF()).run(jax.random.key(0), Problem.of(MODEL, PRIOR, SERIES), Silent())


def test_data_far_outside_the_prior_warn():
    with pytest.warns(UserWarning, match="100% of the observed rows lie outside the range of all 16"):
        tsnl.infer(MODEL, PRIOR, SERIES + 1e3, replace(QUICK, **ONE_ROUND), seed=0)


@pytest.mark.parametrize(
    ("series", "prior", "message"),
    [
        (SERIES[:4], PRIOR, r"4 rows and the lag is 4.*Choose a lag below 4"),
        (np.ones(20), PRIOR, "Column y of the series is constant at 1.0"),
        (np.repeat(SERIES, 2, axis=1), PRIOR, r"2 column\(s\), the model observes 1"),
        (SERIES, tsnl.Prior(S=dist.Normal(0.0, 1.0)), r"no parameter \['S'\]"),
        (np.where(np.arange(20) == 3, np.inf, SERIES[:, 0]), PRIOR, "infinite at row 4, column 1"),
    ],
)
def test_bad_questions(series, prior, message):
    with pytest.raises(ValueError, match=message):
        tsnl.infer(MODEL, prior, series, QUICK, seed=0)


def test_bad_types():
    with pytest.raises(TypeError, match=r"model is a int, expected a tsnl.StateSpaceModel"):
        tsnl.infer(3, PRIOR, SERIES, QUICK, seed=0)
    with pytest.raises(TypeError, match=r"prior is a dict, expected tsnl.Prior"):
        tsnl.infer(MODEL, {}, SERIES, QUICK, seed=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"simulations": 0}, "simulations is 0, expected at least 1"),
        ({"rounds": 0}, "rounds is 0"),
        ({"strategy": "worst"}, "strategy is 'worst', expected one of"),
        ({"transform": "sqrt"}, "transform is 'sqrt'"),
        ({"stop": "now"}, "stop is 'now'"),
        ({"lag": "cv"}, "lag is 'cv', expected a whole number or one of"),
        ({"lag": 0}, "lag is 0, expected at least 1"),
        ({"widen": 0.5}, "widen is 0.5, expected at least 1"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        TSNL(**options)


class Walk(tsnl.StateSpaceModel):
    """A random walk of step `scale`, observed as a law says."""

    scale: float = 0.3

    def sample_initial(self, key, theta):
        return jnp.ones(())

    def sample_transition(self, key, state, theta, t, u):
        return 0.9 * state + theta["scale"] * jax.random.normal(key)

    def sample_observation(self, key, state, theta, t, u):
        return state


class Counts(Walk):
    def sample_observation(self, key, state, theta, t, u):
        return 1.0 * jax.random.poisson(key, jnp.exp(jnp.clip(state, -3, 3)))


class Broken(Walk):
    def sample_observation(self, key, state, theta, t, u):
        return state * jnp.nan


SCALE = tsnl.Prior(scale=dist.LogNormal(-1.0, 0.5))


def test_a_simulator_that_always_fails_is_named():
    with pytest.raises(ValueError, match="No simulation gave finite values: check the simulator"):
        tsnl.infer(Broken(), SCALE, SERIES, QUICK, seed=0)


def test_counts_are_dequantised():
    series = Counts().simulate(seed=0, length=20)
    method = replace(QUICK, **ONE_ROUND)
    problem = Problem.of(Counts(), SCALE, series)
    assert method.spec(problem, 4).integer == (True,)
    assert method.spec(problem, 4).discrete
    assert method.spec(Problem.of(MODEL, PRIOR, SERIES), 4).integer == (False,)
    assert replace(method, counts=False).spec(problem, 4).integer == (False,)
    found = tsnl.infer(Counts(), SCALE, series, method, seed=0)
    assert np.isfinite(found.draws["scale"]).all()
    # with noise, no density can pile up on the integers: the held-out loss stays above that of a uniform
    spread = float(np.exp(found.posterior.likelihood.kernel.scaling.log_jacobian(jnp.zeros(1))[0]))
    assert found.history[0]["loss"] > np.log(spread) - 1


class Fragile(Walk):
    """Its path breaks off where it has gone too far."""

    def sample_observation(self, key, state, theta, t, u):
        return jnp.where(jnp.abs(state) < 1.5, state, jnp.nan)


@pytest.mark.slow
def test_simulations_that_fail_in_part_are_used():
    series = np.clip(Walk().simulate(seed=0, length=20), -1.4, 1.4)
    found = tsnl.infer(Fragile(), SCALE, series, replace(QUICK, **ONE_ROUND), seed=0)
    assert 0 < found.history[0]["failed"] < 16
    assert np.isfinite(found.draws["scale"]).all()


@pytest.mark.slow
def test_predators_that_fail_in_part_are_used():
    model = LotkaVolterra(event_cap=60, dt=0.1)
    prior = tsnl.Prior(rho3=dist.LogNormal(0.0, 1.0))
    series = LotkaVolterra(dt=0.1).simulate(seed=0, length=20)
    found = tsnl.infer(model, prior, series, replace(QUICK, **ONE_ROUND), seed=0)
    assert 0 < found.history[0]["failed"] < 16
    assert np.isfinite(found.draws["rho3"]).all()


@pytest.mark.slow
def test_defaults_come_close_to_the_exact_posterior():
    """100 simulations on the linear problem: median TV over five series, and the truth is inside."""
    distances = []
    for seed in range(5):
        problem = LINEAR.observe(seed)
        found = tsnl.infer(problem.model, problem.prior, problem.series, seed=seed)
        assert found.cost == 100 * LINEAR.length
        z = np.log(found.draws["Q"].ravel()).astype(float)
        grid = np.linspace(-8, 3, 1101)
        exact = linear_reference(problem, grid)
        exact = np.exp(exact - exact.max())
        width = 0.9 * z.std() * len(z) ** -0.2
        smooth = np.exp(-0.5 * ((grid[:, None] - z[::4]) / width) ** 2).sum(axis=1)
        distances.append(total_variation(smooth, exact, grid))
        low, high = np.quantile(z, [0.0005, 0.9995])
        assert low < np.log(float(LINEAR.truth["Q"])) < high
    assert np.median(distances) <= 0.15
