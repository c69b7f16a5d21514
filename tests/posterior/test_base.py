"""One kernel, other data."""

from functools import cache

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl import MCMC, TSNL, Training
from tsnl.kernel import Mixture
from tsnl.models import LinearGaussian
from tsnl.posterior import Posterior

MODEL = LinearGaussian()
PRIOR = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
SERIES = MODEL.simulate(seed=1, length=20)
Z = jnp.array([-1.3])


@cache
def posterior():
    method = TSNL(
        states=False,
        rounds=1,
        simulations=16,
        head=Mixture(num_components=2, width=4, depth=1),
        training=Training(num_members=2, min_steps=60, max_steps=60),
        sampler=MCMC(num_chains=4, num_warmup=100, num_draws=150, max_extensions=0),
    )
    return tsnl.infer(MODEL, PRIOR, SERIES, method, seed=0).posterior


@eqx.filter_jit
def value(found):
    return found(Z)


@eqx.filter_jit
def factors(found):
    return found.likelihood.factors(Z)


def log_likelihood(found):
    return float(value(found.likelihood))


def test_the_same_series_gives_the_same_posterior():
    assert value(posterior().condition(SERIES)) == value(posterior())


def test_factors_of_a_prefix_are_a_prefix_of_the_factors():
    whole, prefix = (np.asarray(factors(p)) for p in (posterior(), posterior().condition(SERIES[:7])))
    np.testing.assert_allclose(prefix, whole[:7], rtol=1e-5, atol=1e-5)


def test_a_panel_multiplies_likelihoods_of_unequal_lengths():
    other = MODEL.simulate(seed=2, length=9)
    alone = log_likelihood(posterior()) + log_likelihood(posterior().condition(other))
    together = log_likelihood(posterior().condition([SERIES, other]))
    np.testing.assert_allclose(together, alone, rtol=1e-5)


def test_one_row_is_enough():
    assert np.isfinite(log_likelihood(posterior().condition(SERIES[:1])))
    assert np.isfinite(log_likelihood(posterior().condition([0.3])))


def test_draws_come_without_a_simulation():
    options = MCMC(num_chains=4, num_warmup=100, num_draws=150, max_extensions=0)
    found = posterior().condition(MODEL.simulate(seed=3, length=20))
    draws = found.sample(seed=0, options=options)
    assert draws["Q"].shape == (4, 150)
    np.testing.assert_array_equal(draws["Q"], found.sample(seed=0, options=options)["Q"])


def test_what_does_not_fit():
    with pytest.raises(ValueError, match=r"2 column\(s\), the kernel knows 1"):
        posterior().condition(np.zeros((5, 2)))
    with pytest.raises(ValueError, match="missing entries, which this kernel was not trained for"):
        posterior().condition([0.1, np.nan])
    with pytest.raises(TypeError, match="no learned kernel"):
        Posterior(PRIOR, lambda z: -0.5 * z[0] ** 2).condition(SERIES)
