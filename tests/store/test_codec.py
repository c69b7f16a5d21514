"""Plain JSON of options, models and priors, there and back."""

import json
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl import MCMC, TSNL, Training
from tsnl.kernel import MAF, Mixture, Spline
from tsnl.models import LinearGaussian, LotkaVolterra, StochasticVolatility
from tsnl.store import codec
from tsnl.store.results import decode_prior, encode_prior

JOINT = tsnl.Prior(
    {("Q", "R"): dist.MultivariateNormal(np.zeros(2), 0.2 * np.eye(2))}, A=dist.Beta(9.0, 1.0)
)


class Blank(LinearGaussian):
    pass


class OwnPrior(dist.Normal):
    pass


def test_own_models_and_priors_have_no_plain_form():
    with pytest.raises(codec.NotSavableError, match="Blank"):
        codec.encode(Blank())
    with pytest.raises(codec.NotSavableError, match="OwnPrior"):
        encode_prior(tsnl.Prior(Q=OwnPrior(0.0, 1.0)))


@pytest.mark.parametrize(
    "value",
    [
        TSNL(lag="bic", decays=(), head=Spline(num_knots=5), transform="asinh"),
        TSNL(head=MAF(activation="relu"), sampler=MCMC(transition="nuts"), stop="converged"),
        TSNL(training=Training(num_members=2, min_steps=20, max_steps=20), head=Mixture(width=2)),
    ],
)
def test_options_round_trip(value):
    assert codec.decode(json.loads(json.dumps(codec.encode(value)))) == value


@pytest.mark.parametrize(
    "model",
    [LinearGaussian(A=[[0.9, 0.1], [0.0, 0.8]]), StochasticVolatility(), LotkaVolterra(observe="both")],
    ids=lambda m: type(m).__name__,
)
def test_models_round_trip(model):
    again = codec.decode(json.loads(json.dumps(codec.encode(model))))
    np.testing.assert_array_equal(again.simulate(seed=0, length=4), model.simulate(seed=0, length=4))


DISTRIBUTIONS = {
    "joint": JOINT,
    "scalar": tsnl.Prior(x=dist.LogNormal(-1.2, 1.0), y=dist.Uniform(-1.0, 3.0)),
    "real": tsnl.Prior(x=dist.StudentT(4.0, 1.0, 2.0), y=dist.HalfCauchy(1.0)),
    "positive": tsnl.Prior(
        x=dist.Gamma(2.0, 3.0), y=dist.InverseGamma(3.0, 1.0), z=dist.HalfNormal(2.0)
    ),
    "batch": tsnl.Prior(x=dist.Normal(np.zeros((2, 2)), 1.0), y=dist.HalfNormal(2.0)),
    "simplex": tsnl.Prior(x=dist.Dirichlet(np.array([1.0, 2.0, 3.0]))),
    "correlation": tsnl.Prior(x=dist.LKJ(3, 1.5)),
    "covariance": tsnl.Prior(x=dist.Wishart(5.0, np.array([[1.0, 0.3], [0.3, 2.0]]))),
}


@cache
def origin(name):
    return jnp.full(DISTRIBUTIONS[name].size, 0.3)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_priors_round_trip(name):
    prior, z = DISTRIBUTIONS[name], origin(name)
    again = decode_prior(json.loads(json.dumps(encode_prior(prior))))
    assert again.names == prior.names
    ours, theirs = (jax.jit(p.log_prob_unconstrained)(z) for p in (prior, again))
    assert ours == theirs
