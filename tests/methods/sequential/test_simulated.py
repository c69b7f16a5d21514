import jax
import numpy as np
import numpyro.distributions as dist

import tsnl
from tsnl.methods.sequential.simulated import Simulated, choose, propose, simulate_at
from tsnl.models import LinearGaussian
from tsnl.problem import Problem
from tsnl.simulation import Failure

MODEL = LinearGaussian()
PRIOR = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
SERIES = MODEL.simulate(seed=1, length=20)


def test_choosing():
    series = np.full((5, 3, 1), np.nan)
    series[:4] = np.array([0.0, 3.0, 1.0, 2.0])[:, None, None]
    series[2, 1:] = np.nan  # it failed after its first row
    rounds = np.array([0, 0, 1, 1, -1])
    simulated = Simulated(np.zeros((5, 1)), series, np.zeros((5, 3, 0)), rounds, np.full(5, 3), count=4)
    problem = Problem(MODEL, PRIOR, (np.zeros((3, 1)),))
    chosen = {s: choose(s, simulated, problem, 2).tolist() for s in ("all", "last", "best")}
    assert chosen["all"] == [True, True, True, True, False]
    assert chosen["last"] == [False, False, True, True, False]
    assert chosen["best"] == [True, False, False, True, False]
    assert simulated.num_failed == 1


def test_a_failed_series_is_cut_at_its_first_bad_value():
    problem = Problem.of(MODEL, PRIOR, SERIES[:4])
    simulated = Simulated.none(problem, 3)
    rows = np.arange(8.0).reshape(2, 4, 1)
    rows[1, 1] = np.inf
    simulated = simulated.added(np.zeros((2, 1)), rows, 8)
    np.testing.assert_array_equal(np.isnan(simulated.series[:, :, 0]).sum(1), [0, 3, 4])
    assert (simulated.count, simulated.cost, simulated.num_failed) == (2, 8, 1)


def test_as_many_are_proposed_as_are_asked_for():
    """However few draws there are to propose from."""
    problem, rng = Problem.of(MODEL, PRIOR, SERIES), np.random.default_rng(0)
    few = rng.normal(size=(2, 5, 1))
    for draws in (None, few):
        assert propose(jax.random.key(0), rng, problem, draws, 37, 2.0).shape == (37, 1)


def test_what_is_kept_is_read_again():
    problem = Problem.of(MODEL, PRIOR, SERIES[:4])
    simulated = Simulated.none(problem, 3)
    rows = np.arange(8.0).reshape(2, 4, 1)
    rows[1, 1:] = np.nan
    simulated = simulated.added(np.zeros((2, 1)), rows, 8, (Failure(1, "it broke"),))
    again = Simulated.of_arrays(simulated.arrays(), problem)
    assert (again.count, again.cost, again.num_failed) == (2, 8, 1)
    assert again.log.reason == ("it broke",)
    longer = again.grown(Problem.of(MODEL, PRIOR, SERIES[:6]), 5)
    assert longer.num_failed == 1  # a series that was to be shorter has not failed
    assert longer.completion() is not None


class Plain(tsnl.models.LinearGaussian):
    """Seen as it is."""

    def sample_observation(self, key, state, theta, t, u):
        return state


def test_views_are_kept_beside_their_series_and_cost_nothing():
    problem = Problem.of(MODEL, PRIOR, SERIES)
    z, key = np.zeros((3, 1)), jax.random.key(0)
    plain = simulate_at(key, problem, Simulated.none(problem, 4), z)
    seen = simulate_at(key, problem, Simulated.none(problem, 4, 3), z)
    assert (seen.cost, seen.count) == (plain.cost, plain.count)
    np.testing.assert_array_equal(seen.series, plain.series)
    every = seen.all
    assert every.num_views == 3
    assert every.series.shape == (12, 20, 1)
    for i in range(3):  # the block of a view has the same parameters
        np.testing.assert_array_equal(every.z[4 * i : 4 * i + 4], seen.z)
    live = every.series.reshape(3, 4, 20)[:, :3]
    assert np.isfinite(live).all()
    assert len(np.unique(live[:, 0, 0])) == 3
    assert np.isnan(every.series.reshape(3, 4, 20)[:, 3]).all()


def test_views_that_are_all_the_same_are_one():
    problem = Problem.of(Plain(), PRIOR, SERIES)
    seen = simulate_at(jax.random.key(0), problem, Simulated.none(problem, 4, 3), np.zeros((3, 1)))
    assert seen.views.shape == (2, 4, 20, 1)
    assert seen.all.num_views == 1
    np.testing.assert_array_equal(seen.all.series, seen.series)


def test_states_are_kept_read_again_and_grown():
    problem, longer = (Problem.of(MODEL, PRIOR, SERIES[:n]) for n in (4, 6))
    z, key = np.zeros((3, 1)), jax.random.key(0)
    seen = simulate_at(key, problem, Simulated.none(problem, 4), z, True)
    assert seen.states.shape == (4, 5, 1)
    assert np.isnan(seen.states[3]).all()
    again = Simulated.of_arrays(seen.arrays(), problem)
    np.testing.assert_array_equal(again.states, seen.states[:3].astype(np.float32))
    grown = again.grown(longer, 5)
    assert grown.states.shape == (5, 7, 1)
    np.testing.assert_array_equal(grown.states[:3, :5], again.states)
    assert np.isnan(grown.states[:, 5:]).all()
    more = simulate_at(key, longer, grown, z[:2], True)
    assert np.isfinite(more.states[3:]).all()
