from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl.kernel.training import Training
from tsnl.likelihood.entries import Entries
from tsnl.likelihood.exact import ExactLikelihood
from tsnl.likelihood.learned_filter import LearnedFilter, log_likelihoods
from tsnl.likelihood.observation import KnownObservation
from tsnl.methods.sequential.simulated import Simulated, simulate_at
from tsnl.methods.sequential.transition import learn_transition
from tsnl.models import LinearGaussian
from tsnl.problem import Problem

MODEL = LinearGaussian()
PRIOR = tsnl.Prior(A=dist.Uniform(0.3, 0.99), Q=dist.LogNormal(-1.0, 0.5))
SERIES = MODEL.simulate(seed=1, length=40)


@pytest.fixture(scope="module")
def learned():
    problem = Problem.of(MODEL, PRIOR, SERIES)
    z = PRIOR.sample_unconstrained(jax.random.key(0), 100)
    simulated = simulate_at(jax.random.key(1), problem, Simulated.none(problem, 100), z, True)
    training = Training(num_members=2, max_steps=600)
    law = learn_transition(jax.random.key(2), 2, training, simulated)
    return LearnedFilter(MODEL, PRIOR, law, KnownObservation(MODEL), 400)


def run(learned, rows, z, seed=0):
    n = len(z)
    rows = jnp.broadcast_to(jnp.asarray(rows, dtype=float).reshape(-1), (n, len(rows)))
    keys = jax.random.split(jax.random.key(seed), n)
    return np.asarray(log_likelihoods(keys, learned, jnp.asarray(z, dtype=float), rows, None))


@pytest.mark.slow
def test_it_comes_close_to_the_exact_likelihood(learned):
    z = PRIOR.sample_unconstrained(jax.random.key(5), 32)
    exact = ExactLikelihood(PRIOR, MODEL, SERIES)
    right = np.array([float(exact(jnp.asarray(one, dtype=float))) for one in z])
    error = run(learned, SERIES, z) - right
    # filters of 400 particles have an sd of about 0.3 here; 100 paths of 40 rows leave a little more
    assert abs(np.median(error)) < 0.5
    assert np.median(np.abs(error - np.median(error))) < 0.5


@pytest.mark.slow
def test_a_missing_row_is_skipped(learned):
    series = SERIES.copy()
    series[10:15] = np.nan
    z = np.tile(PRIOR.sample_unconstrained(jax.random.key(5), 1), (32, 1))
    exact = float(ExactLikelihood(PRIOR, MODEL, series)(jnp.asarray(z[0], dtype=float)))
    found = run(learned, series, z)
    assert abs(found.mean() - exact) < 0.5


@pytest.mark.slow
def test_a_row_that_no_particle_explains_is_finite_and_hopeless(learned):
    series = SERIES.copy()
    series[20] = 1e6
    z = np.tile(PRIOR.sample_unconstrained(jax.random.key(5), 1), (8, 1))
    found = run(learned, series, z)
    assert np.isfinite(found).all()
    assert (found < -1000).all()


@pytest.mark.slow
def test_more_particles_are_less_noisy(learned):
    z = np.tile(PRIOR.sample_unconstrained(jax.random.key(5), 1), (64, 1))
    few = run(replace(learned, num_particles=40), SERIES, z).var()
    assert run(learned, SERIES, z).var() < few / 3


def test_entries_come_back_in_the_shapes_and_types_of_the_model():
    class Mixed(LinearGaussian):
        def sample_initial(self, key, theta):
            return {"a": jnp.zeros((2, 2)), "b": (jnp.asarray(1, dtype=jnp.int32), jnp.asarray(0.5))}

    entries = Entries.of(Mixed(), Mixed().complete())
    state = entries.state(jnp.array([1.0, 2.0, 3.0, 4.0, 6.7, 0.25]))
    np.testing.assert_array_equal(state["a"], [[1.0, 2.0], [3.0, 4.0]])
    assert state["b"][0].dtype == jnp.int32
    assert int(state["b"][0]) == 7
    assert float(state["b"][1]) == 0.25
