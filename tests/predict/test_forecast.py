from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl import MCMC, TSNL, Forecast, Training
from tsnl.kernel import Decays, Head, Kernel, KernelSpec, Lags, Mixture, Region, Scaling
from tsnl.kernel.member import fresh_members
from tsnl.likelihood import kalman_filter
from tsnl.models import LinearGaussian, LotkaVolterra
from tsnl.predict.forecast import draw_forecast
from tsnl.predict.futures import ParticleFuture, kernel_futures, simulator_futures
from tsnl.problem import Problem

mpl.use("Agg")
MODEL = LinearGaussian()
PRIOR = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
ALL_ROWS = np.asarray(MODEL.simulate(seed=1, length=30), dtype=float)
SERIES, HELD_OUT = ALL_ROWS[:20], ALL_ROWS[20:]
N = 1000


class Autoregression(Head):
    """v_t = phi v_{t-1} + theta_0 + sd e_t, in standardised units."""

    phi: jax.Array
    sd: jax.Array

    def log_prob(self, y, features, theta):
        mean = self.phi * features[:1] + theta[0]
        return jnp.sum(jax.scipy.stats.norm.logpdf(y, mean, self.sd))

    def sample(self, key, features, theta):
        return self.phi * features[:1] + theta[0] + self.sd * jax.random.normal(key, (1,))


@dataclass(frozen=True)
class Autoregressive:
    sd: float

    def make(self, key, d_y, groups, size):
        return Autoregression(jnp.asarray(0.8), jnp.asarray(self.sd))


def known_kernel(sd=0.5, integer=False):
    """A kernel whose futures are known in closed form; its past is longer than it needs."""
    memory = (Lags(2), Decays((0.5,)))
    spec = KernelSpec(Autoregressive(sd), memory, 1, 0, 1, num_members=2, integer=(integer,))
    one = jnp.ones(1)
    scaling = Scaling(one, 3.0 * one, 2.0 * one, 0.0 * one, one, "none")
    members = fresh_members(jax.random.key(0), spec)
    return Kernel(members, scaling, Region.unknown(1, spec.groups()), spec)


def assert_normal(draws, mean, variance, slack=0.0):
    """Means and variances of each step within 4.5 standard errors."""
    n = len(draws)
    assert (np.abs(draws.mean(0) - mean) < (4.5 / np.sqrt(n) + slack) * np.sqrt(variance)).all()
    assert (np.abs(draws.var(0) / variance - 1) < 4.5 * np.sqrt(2 / n) + slack).all()


def test_a_kernel_is_rolled_forward_as_its_closed_form_says():
    problem = Problem.of(MODEL, PRIOR, SERIES)
    theta = {"Q": np.full(N, np.exp(0.3))}  # z = 0.3
    draws = kernel_futures(jax.random.key(0), problem, known_kernel(), theta, np.zeros((6, 0)))
    assert draws.shape == (N, 6, 1)
    mean, variance, found = (SERIES[-1, 0] - 3) / 2, 0.0, []
    for _ in range(6):
        mean, variance = 0.8 * mean + 0.3, 0.64 * variance + 0.25
        found.append((2 * mean + 3, 4 * variance))
    assert_normal(draws[:, :, 0], *np.array(found).T)


def test_counts_stay_counts():
    problem = Problem.of(MODEL, PRIOR, np.round(3 * SERIES))
    theta = {"Q": np.full(50, 1.0)}
    noisy, silent = known_kernel(integer=True), known_kernel(sd=0.0, integer=True)
    draws = kernel_futures(jax.random.key(0), problem, noisy, theta, np.zeros((4, 0)))
    np.testing.assert_array_equal(draws, np.round(draws))
    # without noise, the rounded row is what the next one follows
    still = kernel_futures(jax.random.key(0), problem, silent, theta, np.zeros((4, 0)))[0, :, 0]
    y, expected = problem.series[-1, 0], []
    for _ in range(4):
        y = np.round(0.8 * (y - 3) + 3)
        expected.append(y)
    np.testing.assert_array_equal(still, expected)


def linear_future(q, horizon):
    """Mean and variance of each row to come, by the Kalman filter."""
    last = kalman_filter(MODEL, {"Q": q}, SERIES).filtered
    mean, cov = last.means[-1, 0], last.covariances[-1, 0, 0]
    found = []
    for _ in range(horizon):
        mean, cov = 0.9 * mean, 0.81 * cov + q
        found.append((mean, cov + 0.1))
    return np.array(found).T


def test_the_simulator_starts_from_the_exact_state():
    problem = Problem.of(MODEL, PRIOR, SERIES)
    draws = simulator_futures(jax.random.key(0), problem, {"Q": np.full(N, 0.2)}, np.zeros((5, 0)), 10)
    assert_normal(draws[:, :, 0], *linear_future(0.2, 5))


def test_the_simulator_starts_from_a_filtered_particle():
    law = ParticleFuture(MODEL, jnp.asarray(SERIES), None, 200, 5)
    run = jax.jit(jax.vmap(lambda key: law(key, {"Q": jnp.asarray(0.2)})))
    draws, alive = run(jax.random.split(jax.random.key(0), N))
    assert alive.all()
    assert_normal(np.asarray(draws[:, :, 0], dtype=float), *linear_future(0.2, 5), slack=0.02)


@cache
def fitted():
    method = TSNL(
        states=False,
        rounds=1,
        simulations=16,
        head=Mixture(num_components=2, width=4, depth=1),
        training=Training(num_members=2, min_steps=60, max_steps=60),
        sampler=MCMC(num_chains=4, num_warmup=100, num_draws=150, max_extensions=0),
    )
    return tsnl.infer(MODEL, PRIOR, SERIES, method, seed=0, progress=False)


def test_both_sources_agree():
    kernel, simulator = (
        fitted().forecast(10, s, seed=0, num_draws=600) for s in ("kernel", "simulator")
    )
    assert kernel.draws.shape == simulator.draws.shape == (600, 10, 1)
    assert (kernel.source, simulator.source) == ("kernel", "simulator")
    sd = simulator.draws.std(axis=0)
    assert (np.abs(kernel.mean() - simulator.mean()) < 0.5 * sd).all()
    assert (np.abs(np.log(kernel.draws.std(axis=0) / sd)) < 0.4).all()


def test_scores():
    forecast = fitted().forecast(10, seed=0, num_draws=200)
    scores = forecast.score(HELD_OUT)
    assert scores.crps.shape == (10, 1)
    np.testing.assert_allclose(scores.energy, scores.crps[:, 0], rtol=1e-6)
    assert set(scores.coverage) == {0.5, 0.9}
    assert scores.coverage[0.5] <= scores.coverage[0.9]
    far = forecast.score(HELD_OUT + 100)
    assert (far.crps > 80).all()
    assert far.coverage == {0.5: 0.0, 0.9: 0.0}
    part = forecast.score([HELD_OUT[0, 0], np.nan, HELD_OUT[2, 0]])
    np.testing.assert_allclose(part.crps[[0, 2]], scores.crps[[0, 2]])
    assert np.isnan(part.crps[1])
    with pytest.raises(ValueError, match="held_out has 11 rows, the forecast 10"):
        forecast.score(np.zeros(11))


def test_the_same_seed_gives_the_same_futures():
    one, two, other = (fitted().forecast(10, seed=s, num_draws=50).draws for s in (0, 0, 1))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


def test_saved_and_loaded(tmp_path):
    forecast = fitted().forecast(10, seed=0, num_draws=50)
    forecast.save(tmp_path / "forecast.npz")
    again = Forecast.load(tmp_path / "forecast.npz")
    np.testing.assert_array_equal(again.draws, forecast.draws)
    np.testing.assert_array_equal(again.series, SERIES)
    assert again.source == "kernel"


def test_a_loaded_run_forecasts_the_same(tmp_path):
    fitted().save(tmp_path / "run")
    again = tsnl.load(tmp_path / "run").forecast(10, seed=0, num_draws=50)
    np.testing.assert_array_equal(again.draws, fitted().forecast(10, seed=0, num_draws=50).draws)


@pytest.mark.parametrize("dark", [False, True])
def test_plot(dark, tmp_path):
    forecast = fitted().forecast(10, seed=0, num_draws=50)
    figure = forecast.plot(HELD_OUT, tmp_path / "forecast.png", dark=dark)
    assert (tmp_path / "forecast.png").stat().st_size > 5000
    assert [line.get_label() for line in figure.axes[0].lines] == ["observed", "median", "held out"]
    plt.close("all")


def test_futures_that_fail_are_left_out_aloud():
    model = LotkaVolterra(rho1=0.0, rho2=0.0, noise_sd=20.0, dt=0.1, event_cap=60)
    problem = Problem.of(model, tsnl.Prior(rho3=dist.LogNormal()), model.simulate(seed=0, length=12))
    with pytest.warns(UserWarning, match=r"\d+ of 100 futures are not finite.*left out"):
        draws = simulator_futures(
            jax.random.key(0), problem, {"rho3": np.ones(100)}, np.zeros((6, 0)), 20
        )
    assert 0 < len(draws) < 100
    assert np.isfinite(draws).all()


@pytest.mark.usefixtures("unchecked")
def test_errors():
    result = fitted()
    with pytest.raises(ValueError, match="horizon is 0, expected at least 1"):
        result.forecast(0, seed=0)
    with pytest.raises(ValueError, match="source is 'oracle', expected 'kernel' or 'simulator'"):
        result.forecast(3, "oracle", seed=0)
    with pytest.raises(TypeError, match="no kernel of one row after the other: use source='simulator'"):
        replace(result, posterior=None).forecast(3, seed=0)
    kernel = result.posterior.kernel
    whole = replace(kernel, spec=replace(kernel.spec, whole=True))
    with pytest.raises(TypeError, match="no kernel of one row after the other"):
        draw_forecast(jax.random.key(0), result.problem, whole, {"Q": np.ones(3)}, 3, None, "kernel", 10)
    blind = SimpleNamespace(laws=tsnl.StateSpaceModel, series=SERIES, inputs=None)
    with pytest.raises(TypeError, match="has no log_observation"):
        simulator_futures(jax.random.key(0), blind, {"Q": np.ones(3)}, np.zeros((3, 0)), 10)
