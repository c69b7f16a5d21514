"""Known inputs and several series, from `infer` to forecasts."""

from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl import MCMC, PMMH, TSNL, Training
from tsnl.kernel import Mixture
from tsnl.likelihood import particle_filter
from tsnl.models import LinearGaussian
from tsnl.posterior import Stream

SAMPLER = MCMC(num_chains=4, num_warmup=100, num_draws=200, max_extensions=0)


class Controlled(tsnl.StateSpaceModel):
    """x_t = 0.7 x_{t-1} + B u_t + N(0, 0.2), y_t = x_t + N(0, 0.1), x_0 = 0."""

    B: Any = 1.0

    def sample_initial(self, key, theta):
        return jnp.zeros(())

    def sample_transition(self, key, state, theta, t, u):
        return 0.7 * state + theta["B"] * u[0] + jnp.sqrt(0.2) * jax.random.normal(key)

    def sample_observation(self, key, state, theta, t, u):
        return state + jnp.sqrt(0.1) * jax.random.normal(key)

    def log_observation(self, y, state, theta, t, u):
        return -0.5 * (y - state) ** 2 / 0.1 - 0.5 * jnp.log(2 * jnp.pi * 0.1)


T = 40
INPUTS = np.sin(np.arange(T + 10) / 3)[:, None] + (np.arange(T + 10) % 7 == 0)[:, None]
MODEL = Controlled()
PRIOR = tsnl.Prior(B=dist.Normal(0.0, 1.5))
LONG = MODEL.simulate(seed=3, length=T + 10, inputs=INPUTS).astype(float)


def exact(series, inputs):
    """Mean and sd of B: y is N(B m, S), linear in B."""
    n = len(series)
    power = np.tril(0.7 ** np.abs(np.subtract.outer(np.arange(n), np.arange(n))))
    m, s = power @ inputs[:, 0], 0.2 * power @ power.T + 0.1 * np.eye(n)
    solved = np.linalg.solve(s, m)
    precision = m @ solved + 1 / 1.5**2
    return solved @ series[:, 0] / precision, precision**-0.5


value = eqx.filter_jit(lambda function, z: function(z))


@cache
def controlled():
    head = Mixture(2, width=0)
    method = TSNL(states=False, rounds=2, simulations=32, lag=2, head=head, sampler=SAMPLER)
    return tsnl.infer(MODEL, PRIOR, LONG[:T], method, inputs=INPUTS[:T], seed=0)


def test_inputs_reach_laws_and_kernel():
    """Blind to u, the kernel could not do it: the sd would be that of another B at every step."""
    mean, sd = exact(LONG[:T], INPUTS[:T])
    draws = controlled().draws["B"]
    assert abs(draws.mean() - mean) < sd
    assert 0.6 < draws.std() / sd < 1.6


def test_condition_and_update_take_inputs():
    posterior = controlled().posterior
    other = posterior.condition(LONG[:30], INPUTS[:30]).likelihood
    short, long = (value(p.factors, jnp.ones(1)) for p in (other, posterior.likelihood))
    np.testing.assert_allclose(short, long[:30], rtol=1e-4, atol=1e-4)
    begun = Stream.begin(posterior, LONG[:T], INPUTS[:T], seed=0, num_particles=200, sampler=SAMPLER)
    stream = begun.update(LONG[T], INPUTS[T])
    whole = posterior.condition(LONG[: T + 1], INPUTS[: T + 1])
    z = jnp.asarray(begun.cloud.z[:5])
    grown = value(jax.vmap(whole), z) - value(jax.vmap(posterior), z)
    assert stream.refreshes == 0
    found = stream.cloud.log_weights[:5]
    np.testing.assert_allclose(found - found[0], grown - grown[0], atol=5e-3)
    np.testing.assert_array_equal(stream.inputs, INPUTS[: T + 1])
    with pytest.raises(ValueError, match=r"learned with 1 column\(s\) of inputs: give inputs"):
        posterior.condition(LONG)
    with pytest.raises(ValueError, match=r"inputs has shape \(3, 1\), expected 50 rows"):
        posterior.condition(LONG, INPUTS[:3])


def test_forecasts_follow_their_inputs():
    """A push of the input moves the next row by B times the push."""
    for source in ("kernel", "simulator"):
        quiet, pushed = (
            controlled()
            .forecast(2, source, inputs=[[u], [0.0]], seed=0, num_draws=200, num_particles=50)
            .mean()
            for u in (0.0, 2.0)
        )
        moved = pushed - quiet
        assert 1.2 < moved[0, 0] < 2.8
        assert 0.5 < moved[1, 0] < 2.4  # 0.7 of it is left
    with pytest.raises(ValueError, match="give inputs= of the 2 rows to come"):
        controlled().forecast(2, seed=0)


def test_a_run_with_inputs_is_saved_and_loaded(tmp_path):
    controlled().save(tmp_path / "run")
    found = tsnl.load(tmp_path / "run", model=MODEL)
    np.testing.assert_array_equal(found.problem.inputs[0], INPUTS[:T])
    z = jnp.ones(1)
    assert value(found.posterior, z) == value(controlled().posterior, z)


def test_filters_take_inputs():
    found = controlled().states("filter", seed=0, num_draws=20, num_particles=200)
    theta, key = {"B": 1.0}, jax.random.key(0)
    alone = particle_filter(key, MODEL, theta, LONG[:T], 500, inputs=INPUTS[:T])
    assert np.abs(found.mean()[:, 0] - np.asarray(alone.means)).mean() < 0.3
    pmmh = PMMH(num_chains=2, num_warmup=100, num_steps=200, num_particles=50)
    draws = tsnl.infer(MODEL, PRIOR, LONG[:T], pmmh, inputs=INPUTS[:T], seed=0).draws["B"]
    mean, sd = exact(LONG[:T], INPUTS[:T])
    assert abs(draws.mean() - mean) < sd


LINEAR = LinearGaussian()
LINEAR_PRIOR = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
PANEL = [LINEAR.simulate(seed=i, length=n).astype(float) for i, n in enumerate((20, 12, 7))]
TINY = TSNL(
    states=False,
    rounds=2,
    simulations=8,
    head=Mixture(num_components=2, width=4, depth=1),
    training=Training(num_members=2, min_steps=60, max_steps=60),
    sampler=MCMC(num_chains=4, num_warmup=100, num_draws=150, max_extensions=0),
)


@cache
def panel():
    return tsnl.infer(LINEAR, LINEAR_PRIOR, PANEL, TINY, seed=0)


def test_a_panel_multiplies_likelihoods():
    posterior = panel().posterior
    z = jnp.array([-1.0])
    alone = [value(posterior.condition(one).likelihood, z) for one in PANEL]
    np.testing.assert_allclose(value(posterior.likelihood, z), sum(alone), rtol=1e-5)
    assert panel().cost == 16 * 20  # every simulation is as long as the longest series


def test_one_series_of_a_panel(tmp_path):
    with pytest.raises(ValueError, match=r"3 observed series.*result.one\(i\)"):
        panel().forecast(2, seed=0)
    one = panel().one(1)
    assert one.forecast(2, seed=0, num_draws=20).series.shape == (12, 1)
    assert one.draws is panel().draws
    panel().save(tmp_path / "run")
    found = tsnl.load(tmp_path / "run")
    assert [len(s) for s in found.problem.panel] == [20, 12, 7]
    z = jnp.zeros(1)
    assert value(found.posterior, z) == value(panel().posterior, z)


def test_a_kernel_that_stands_gaps_stays_one(tmp_path):
    """One complete series of a panel with gaps, saved and loaded."""
    gaps = PANEL[1].copy()
    gaps[3] = np.nan
    result = tsnl.infer(LINEAR, LINEAR_PRIOR, [PANEL[0], gaps], TINY, seed=0)
    one = result.one(0)
    assert one.posterior.kernel.spec.gaps
    one.save(tmp_path)
    again = tsnl.load(tmp_path)
    assert again.posterior.kernel.spec.gaps
    again.posterior.condition(gaps)  # which it still stands


def test_what_a_panel_cannot_do():
    with pytest.raises(ValueError, match="PMMH takes one series, 3 were given: use TSNL"):
        tsnl.infer(LINEAR, LINEAR_PRIOR, PANEL, PMMH(), seed=0)
    with pytest.raises(ValueError, match=r"The series have \[1, 2\] columns"):
        tsnl.infer(LINEAR, LINEAR_PRIOR, [PANEL[0], np.ones((5, 2))], seed=0)
    with pytest.raises(ValueError, match="inputs has 1 arrays for 3 series: give one for each"):
        tsnl.infer(MODEL, PRIOR, PANEL, inputs=[INPUTS], seed=0)


def test_an_empty_folder_name_is_refused():
    """It would be the folder that Python runs in."""
    model, prior = LinearGaussian(), tsnl.Prior(Q=dist.HalfNormal(1.0))
    with pytest.raises(ValueError, match="folder is empty: give a path such as 'run'"):
        tsnl.infer(model, prior, np.arange(5.0), TSNL(), seed=0, folder="")
