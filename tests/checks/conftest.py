import numpyro.distributions as dist
import pytest

import tsnl
from tsnl import MCMC, TSNL, Training
from tsnl.kernel import Mixture
from tsnl.models import LinearGaussian

# Of the same shapes as in the tests of the methods: compiled once for both.
QUICK = TSNL(
    states=False,
    rounds=2,
    simulations=8,
    head=Mixture(num_components=2, width=4, depth=1),
    training=Training(num_members=2, min_steps=60, max_steps=60),
    sampler=MCMC(num_chains=4, num_warmup=100, num_draws=150, max_extensions=0),
)


@pytest.fixture(scope="session")
def result():
    """A small fit that all tests of the checks share."""
    model = LinearGaussian()
    prior = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
    series = model.simulate(seed=1, length=20)
    return tsnl.infer(model, prior, series, QUICK, seed=0, progress=False)
