"""Entries of a state that rows show without noise: known, not drawn, and counted by their density."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl.kernel.training import Training
from tsnl.likelihood.exact import ExactLikelihood
from tsnl.likelihood.learned_filter import LearnedFilter, log_likelihoods
from tsnl.likelihood.observation import LearnedObservation, NoObservation
from tsnl.likelihood.transition import HIDDEN, LEARNED, order_learned, seen_entries
from tsnl.methods.sequential.observation import observation_of
from tsnl.methods.sequential.simulated import Simulated, simulate_at
from tsnl.methods.sequential.transition import learn_transition
from tsnl.models import LinearGaussian
from tsnl.problem import Problem

A = [[0.6, 0.5], [0.0, 0.8]]
LENGTH, N = 30, 100
PRIOR = tsnl.Prior(Q=dist.LogNormal(np.zeros(2), 0.5))


class Shown(LinearGaussian):
    """The first of two entries is seen as it is; what drives it is not."""

    log_observation = None

    def sample_observation(self, key, state, theta, t, u):
        return state[:1]


class Beside(Shown):
    """The first column is a noisy look at the second entry, the other the first entry as it is."""

    def sample_observation(self, key, state, theta, t, u):
        return jnp.stack([state[1] + 0.5 * jax.random.normal(key), state[0]])


def model_of(kind):
    return kind(A=A, H=[[1.0, 0.0]], Q=[0.5, 0.5], R=1e-6, mu_0=0.0, Sigma_0=1.0)


def learned(kind, num_members=2, max_steps=60):
    """A filter, its series, and the law of the states."""
    model = model_of(kind)
    series = model.simulate(seed=1, length=LENGTH)
    problem = Problem.of(model, PRIOR, series)
    z = PRIOR.sample_unconstrained(jax.random.key(0), N)
    simulated = simulate_at(jax.random.key(1), problem, Simulated.none(problem, N), z, True)
    training = Training(num_members=num_members, min_steps=50, max_steps=max_steps)
    law = learn_transition(jax.random.key(2), 2, training, simulated)
    rows = tsnl.TSNL(budget=N).spec(problem, 4)
    given = (rows, ("none",) * rows.d_y, training, simulated, law)
    seen = observation_of(jax.random.key(3), model, *given)
    return LearnedFilter(model, PRIOR, law, seen, 200), series


def run(filter_, series, z):
    rows = jnp.broadcast_to(jnp.asarray(series, dtype=float), (len(z), *series.shape))
    keys = jax.random.split(jax.random.key(0), len(z))
    return np.asarray(log_likelihoods(keys, filter_, jnp.asarray(z, dtype=float), rows, None))


def test_columns_that_show_an_entry_are_found_and_come_first():
    rng = np.random.default_rng(0)
    states = rng.normal(size=(20, 11, 3))
    rows = np.stack([rng.normal(size=(20, 10)), states[:, 1:, 2]], axis=2)
    sources = (LEARNED, LEARNED, LEARNED)
    assert seen_entries(states, rows, sources) == (HIDDEN, HIDDEN, 1)
    np.testing.assert_array_equal(order_learned(sources, (HIDDEN, HIDDEN, 1)), [2, 0, 1])
    rows[3, 4, 1] += 1e-6  # in one row it is something else
    assert seen_entries(states, rows, sources) == (HIDDEN, HIDDEN, HIDDEN)
    carried = (LEARNED, LEARNED, 0)  # what repeats another is not learned, seen or not
    assert seen_entries(states, np.stack([states[:, 1:, 2]], axis=2), carried) == (HIDDEN,) * 3


def test_what_is_seen_is_known_and_what_is_missing_is_drawn():
    filter_, _ = learned(Shown)
    law = filter_.transition
    assert law.columns == (0, HIDDEN)
    assert isinstance(filter_.observation, NoObservation)
    x, none = jnp.zeros((200, 2)), jnp.zeros((2, 0))
    given = jax.random.key(1), x, jnp.zeros(2), jnp.asarray(3), none
    new, log_q = law(*given, jnp.array([1.5]))
    np.testing.assert_array_equal(new[:, 0], 1.5)
    assert len(np.unique(new[:, 1])) == 200
    assert len(np.unique(log_q)) == 2  # one for each member, at the same state
    new, log_q = law(*given, jnp.array([jnp.nan]))
    np.testing.assert_array_equal(log_q, 0.0)
    assert len(np.unique(new[:, 0])) == 200


def test_a_density_of_what_is_seen_integrates_to_one():
    law = learned(Shown)[0].transition
    x, grid = jnp.zeros((2, 2)), np.linspace(-12.0, 12.0, 1201)

    def log_q(value):
        given = jnp.zeros(2), jnp.asarray(3), jnp.zeros((2, 0)), value[None]
        return law(jax.random.key(1), x, *given)[1]

    density = np.exp(np.asarray(jax.lax.map(log_q, jnp.asarray(grid, dtype=float), batch_size=100)))
    np.testing.assert_allclose(np.trapezoid(density, grid, axis=0), 1.0, atol=1e-3)


def test_other_columns_are_learned_by_themselves():
    filter_, series = learned(Beside)
    assert filter_.transition.columns == (1, HIDDEN)
    assert isinstance(filter_.observation, LearnedObservation)
    assert filter_.observation.columns == (0,)
    assert np.isfinite(run(filter_, series, np.zeros((8, 2)))).all()


@pytest.mark.slow
def test_a_filter_that_knows_what_is_seen_comes_close_to_the_exact_likelihood():
    filter_, series = learned(Shown, max_steps=600)
    z = np.asarray(PRIOR.sample_unconstrained(jax.random.key(5), 32))
    exact = ExactLikelihood(PRIOR, model_of(LinearGaussian), series)
    right = np.array([float(exact(jnp.asarray(one, dtype=float))) for one in z])
    error = run(filter_, series, z) - right
    assert abs(np.median(error)) < 0.5  # as with noisy rows, see test_learned_filter
    assert np.median(np.abs(error - np.median(error))) < 0.5
    series = series.copy()
    series[10:13] = np.nan
    exact = float(
        ExactLikelihood(PRIOR, model_of(LinearGaussian), series)(jnp.asarray(z[0], dtype=float))
    )
    assert abs(run(filter_, series, np.tile(z[:1], (32, 1))).mean() - exact) < 0.8
