from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from paper import LINEAR, VOLATILITY
from paper.problems import linear_reference
from tsnl import MCMC, ExactMCMC
from tsnl.models import LinearGaussian
from tsnl.problem import Problem
from tsnl.runtime.progress import Silent

MODEL = LinearGaussian()
PRIOR = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
SERIES = MODEL.simulate(seed=1, length=20)
QUICK = ExactMCMC(
    MCMC(transition="nuts", num_chains=4, num_warmup=80, num_draws=500, max_extensions=0, min_ess=100)
)
GRID = np.linspace(-9, 5, 1401)


@cache
def run(seed=0):
    return tsnl.infer(MODEL, PRIOR, SERIES, QUICK, seed=seed, progress=False)


def distance(problem, z):
    """Total variation on 20 bins of equal exact mass; the noise of the draws is in it."""
    log_p = linear_reference(problem, GRID)
    cumulative = np.cumsum(np.exp(log_p - log_p.max()))
    level = np.interp(np.ravel(z), GRID, cumulative / cumulative[-1])
    shares = np.histogram(level, bins=20, range=(0, 1))[0] / level.size
    return 0.5 * np.abs(shares - 0.05).sum()


def test_what_it_returns():
    found = run()
    assert found.draws["Q"].shape == found.log_density.shape == (4, 500)
    assert found.cost == 0
    assert found.log_density.dtype == np.float64
    assert found.status == "finished: 4 chains of 500 draws, exact likelihood"
    assert found.history[0]["r_hat"] < 1.02
    assert found.history[0]["ess"] > 400
    assert distance(found.problem, np.log(found.draws["Q"])) < 0.1


def test_the_same_seed_gives_the_same_bits():
    again = run.__wrapped__()
    np.testing.assert_array_equal(run().draws["Q"], again.draws["Q"])
    np.testing.assert_array_equal(run().log_density, again.log_density)


def test_the_posterior_is_that_of_the_draws_before_and_after_loading(tmp_path):
    found = run()
    found.save(tmp_path)
    z = np.log(found.draws["Q"][0, :5].astype(float))
    for posterior in (found.posterior, tsnl.load(tmp_path).posterior):
        values = jax.jit(jax.vmap(posterior))(jnp.asarray(z)[:, None])
        np.testing.assert_allclose(values, found.log_density[0, :5], atol=1e-3)
    exact = linear_reference(found.problem, z)
    np.testing.assert_allclose(found.log_density[0, :5], exact, atol=1e-5)


def test_precision_elsewhere_is_left_alone():
    posterior = run().posterior
    assert jnp.zeros(1).dtype == jnp.float32
    assert jax.eval_shape(posterior, jnp.zeros(1)).dtype == jnp.float32
    with jax.enable_x64(True):
        assert jax.eval_shape(posterior, jnp.zeros(1)).dtype == jnp.float64
    assert jax.eval_shape(posterior, jnp.zeros(1)).dtype == jnp.float32


def test_32_bit_is_close_on_100_rows():
    problem = LINEAR.observe(0)
    z = np.linspace(-6, 3, 19)
    single = jax.jit(jax.vmap(QUICK.exact_posterior(problem)))(jnp.asarray(z)[:, None])
    np.testing.assert_allclose(single, linear_reference(problem, z), atol=1e-3)


def test_missing_entries_are_allowed():
    series = SERIES.copy()
    series[3:6] = np.nan
    posterior = tsnl.infer(MODEL, PRIOR, series, QUICK, seed=0).posterior
    exact = tsnl.likelihood.kalman_filter(MODEL, {"Q": 0.3}, series).log_likelihood
    np.testing.assert_allclose(posterior.likelihood(jnp.log(jnp.asarray([0.3]))), exact, atol=1e-4)


def test_another_model_is_named():
    problem = VOLATILITY.observe(0)
    message = "model is a StochasticVolatility, but ExactMCMC is for LinearGaussian alone.*Use PMMH"
    with pytest.raises(TypeError, match=message):
        QUICK.run(jax.random.key(0), problem, Silent())


def test_unhealthy_chains_are_told_of():
    sampler = replace(QUICK.sampler, max_r_hat=0.5)
    found = ExactMCMC(sampler).run(jax.random.key(0), Problem.of(MODEL, PRIOR, SERIES), Silent())
    assert "the chains mix poorly: R-hat" in found.status


@pytest.mark.slow
def test_full_run_agrees_with_the_grid():
    problem = LINEAR.observe(0)
    method = ExactMCMC(MCMC(transition="nuts", num_chains=4, num_draws=4000))
    found = method.run(jax.random.key(0), problem, Silent())
    assert distance(problem, found.z) <= 0.05
