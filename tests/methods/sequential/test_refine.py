"""One more round for a run that has ended."""

from functools import cache

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl import MCMC, PMMH, TSNL, Training
from tsnl.kernel import Mixture
from tsnl.models import LinearGaussian
from tsnl.posterior import Stream

MODEL = LinearGaussian()
PRIOR = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
LONG = MODEL.simulate(seed=1, length=30).astype(float)
SAMPLER = MCMC(num_chains=4, num_warmup=100, num_draws=150, max_extensions=0)


@cache
def result():
    method = TSNL(
        states=False,
        rounds=2,
        simulations=8,
        head=Mixture(num_components=2, width=4, depth=1),
        training=Training(num_members=2, min_steps=60, max_steps=60),
        sampler=SAMPLER,
    )
    return tsnl.infer(MODEL, PRIOR, LONG[:20], method, seed=0)


@pytest.mark.slow
def test_a_stream_is_refined_on_all_its_rows():
    stream = Stream.begin(result().posterior, LONG[:20], seed=0, num_particles=50, sampler=SAMPLER)
    stream = stream.update(LONG[20:23])
    found = result().refine(stream, simulations=5, seed=1)
    np.testing.assert_array_equal(found.problem.series, LONG[:23])
    assert found.cost == 16 * 20 + 5 * 23
    assert len(found.history) == 3
    assert found.history[-1]["simulations"] == 21
    old, new = (r.arrays["simulated.series"] for r in (result(), found))
    np.testing.assert_array_equal(new[:16, :20], old)
    assert np.isnan(new[:16, 20:]).all()  # they end where they ended
    assert np.isfinite(new[16:]).all()
    assert found.arrays["simulated.round"].tolist() == [0] * 8 + [1] * 8 + [2] * 5
    assert found.posterior.likelihood.targets.shape == (23,)


@pytest.mark.slow
def test_the_same_data_and_other_data(tmp_path):
    same = result().refine(simulations=4, seed=1)
    np.testing.assert_array_equal(same.problem.series, LONG[:20])
    other = result().refine(LONG[10:], simulations=4, seed=1)
    np.testing.assert_array_equal(other.problem.series, LONG[10:])
    other.save(tmp_path / "run")
    again = tsnl.load(tmp_path / "run")
    value = eqx.filter_jit(lambda function: function(jnp.zeros(1)))
    assert value(again.posterior) == value(other.posterior)


@pytest.mark.slow
def test_new_simulations_are_near_the_posterior():
    found = result().refine(simulations=30, seed=1)
    z = found.arrays["simulated.z"][16:, 0]
    draws = np.log(result().draws["Q"]).ravel()
    widest = 2 * np.abs(draws - draws.mean()).max()  # proposals are stretched by 2
    assert np.abs(z - draws.mean()).max() <= widest * (1 + 1e-5)


def test_what_cannot_be_refined():
    with pytest.raises(ValueError, match="simulations is 0, expected at least 1"):
        result().refine(simulations=0, seed=0)
    pmmh = PMMH(num_chains=2, num_warmup=20, num_steps=20, num_particles=10)
    found = tsnl.infer(MODEL, PRIOR, LONG[:20], pmmh, seed=0)
    with pytest.raises(TypeError, match="PMMH learns no kernel of rows to refine"):
        found.refine(simulations=5, seed=0)
