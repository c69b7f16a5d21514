import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl.likelihood import kalman_filter
from tsnl.likelihood.estimate import Estimate
from tsnl.likelihood.target import target_of
from tsnl.models import LinearGaussian, StochasticVolatility
from tsnl.problem import Problem

MODEL = LinearGaussian()
PRIOR = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
PANEL = [MODEL.simulate(seed=i, length=n).astype(float) for i, n in enumerate((20, 12))]
KEY = jax.random.key(0)


def test_linear_models_are_exact():
    target = target_of(Problem.of(MODEL, PRIOR, PANEL), 50)
    assert target.num_particles == 0
    assert target.with_particles(7) is target
    z = np.array([-0.7])
    exact = sum(float(kalman_filter(MODEL, {"Q": np.exp(-0.7)}, y).log_likelihood) for y in PANEL)
    with jax.enable_x64(True):
        expected = exact + float(PRIOR.log_prob_unconstrained(z))
        assert float(target(KEY, jnp.asarray(z))) == pytest.approx(expected, abs=1e-6)


def test_several_series_get_a_filter_each():
    model = StochasticVolatility()
    prior = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
    panel = [model.simulate(seed=i, length=n).astype(float) for i, n in enumerate((6, 4))]
    target = target_of(Problem.of(model, prior, panel), 20)
    assert target.num_particles == 20
    assert target.with_particles(30).num_particles == 30
    z = jnp.array([-0.7])
    keys = jax.random.split(KEY, 2)
    parts = [
        float(eqx.filter_jit(Estimate.of(model, prior, y, 20))(key, z))
        for key, y in zip(keys, panel, strict=True)
    ]
    expected = sum(parts) - float(prior.log_prob_unconstrained(z))
    assert float(eqx.filter_jit(target)(KEY, z)) == pytest.approx(expected, abs=1e-3)


def test_models_without_densities_are_named():
    problem = Problem.of(lambda rng, theta: rng.normal(size=20), PRIOR, PANEL[0])
    with pytest.raises(TypeError, match="only gives series"):
        target_of(problem, 20)
