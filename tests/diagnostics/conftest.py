from dataclasses import replace

import numpyro.distributions as dist
import pytest

import tsnl
from tsnl import MCMC, TSNL, Training
from tsnl.density import Mixture
from tsnl.models import LinearGaussian

QUICK = TSNL(
    rounds=2,
    simulations=8,
    lag=1,
    density=Mixture(num_components=2, width=4, depth=1),
    training=Training(num_members=2, min_steps=60, max_steps=60),
    sampler=MCMC(num_chains=4, num_warmup=100, num_draws=150, max_extensions=0),
)


@pytest.fixture(scope="session")
def result():
    """A small fit that all tests of the checks share."""
    model = LinearGaussian()
    prior = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
    series = model.simulate(seed=1, length=30)
    return tsnl.infer(model, prior, series, QUICK, seed=0, progress=False)


@pytest.fixture(scope="session")
def pair():
    """The same with two columns."""
    model = LinearGaussian(H=[[1.0], [0.5]], R=0.1)
    prior = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
    method = replace(QUICK, rounds=1)
    return tsnl.infer(model, prior, model.simulate(seed=1, length=30), method, seed=0, progress=False)
