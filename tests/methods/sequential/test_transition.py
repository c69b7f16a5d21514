from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl.kernel.training import Training
from tsnl.methods.sequential.simulated import Simulated
from tsnl.methods.sequential.transition import followed, has_paths, learn_transition, time_profile
from tsnl.models import LinearGaussian
from tsnl.problem import Problem

PROBLEM = Problem.of(LinearGaussian(), tsnl.Prior(Q=dist.LogNormal(0.0, 1.0)), np.arange(12.0))
QUICK = Training(num_members=2, min_steps=100, max_steps=100)


def simulated(states):
    n, rows, _ = states.shape
    empty = Simulated.none(PROBLEM, n)
    z = np.random.default_rng(0).normal(size=(n, 1))
    series = np.zeros((n, rows - 1, 1))
    return replace(empty, z=z, series=series, round_=np.zeros(n, int), count=n, states=states)


def walk(n=40, rows=13, drift=0.0):
    rng = np.random.default_rng(1)
    steps = rng.normal(size=(n, rows, 1)) + drift
    return np.cumsum(steps, axis=1)


def test_paths_that_did_not_end_are_left_out():
    states = walk(15)
    states[:6, 5:] = np.nan
    assert not has_paths(simulated(states))
    assert has_paths(simulated(walk(15)))
    assert not has_paths(replace(simulated(walk(15)), states=None))


@pytest.mark.slow
def test_whole_numbers_get_probabilities():
    kernel = learn_transition(jax.random.key(0), 1, QUICK, simulated(np.round(5 * walk()))).kernel
    assert kernel.spec.integer == (True,)
    assert kernel.spec.lag == 1


@pytest.mark.slow
@pytest.mark.parametrize(("make", "name"), [(np.exp, "log"), (lambda x: x, "none")])
def test_positive_entries_are_on_the_scale_that_predicts_better(make, name):
    paths = make(0.5 * walk(80))
    kernel = learn_transition(jax.random.key(0), 1, QUICK, simulated(paths)).kernel
    assert kernel.scaling.names() == (name,)


def test_constants_and_values_of_before_are_not_learned():
    paths = walk()
    companion = np.concatenate(
        [np.full_like(paths, 0.3), paths, np.roll(paths, 1, axis=1)], axis=2
    )  # x_0 holds some value before the first
    law = learn_transition(jax.random.key(0), 1, QUICK, simulated(companion))
    assert law.sources == (0, -1, 1)
    assert law.kernel.spec.d_y == 1
    x = jnp.asarray(np.tile([0.3, 2.0, 1.0], (4000, 1)), dtype=float)
    row = jnp.zeros(1)
    drawn = law(jax.random.key(1), x, jnp.zeros(1), jnp.asarray(3), jnp.zeros((2, 0)), row)
    new, seen = (np.asarray(one) for one in drawn)
    np.testing.assert_array_equal(seen, 0.0)
    np.testing.assert_array_equal(new[:, 0], np.float32(0.3))
    np.testing.assert_array_equal(new[:, 2], 2.0)
    assert abs(new[:, 1].mean() - 2.0) < 0.4  # a random walk of unit steps, from 480 of them
    assert abs(new[:, 1].std() - 1.0) < 0.3


def test_a_state_that_never_changes_is_refused():
    with pytest.raises(ValueError, match="never changes"):
        learn_transition(jax.random.key(0), 1, QUICK, simulated(np.ones((20, 13, 1))))


def test_what_time_adds_is_found_behind_a_bent_law():
    rng, n, rows = np.random.default_rng(0), 300, 60
    x = np.zeros((n, rows + 1, 1))
    x[:, 0] = rng.normal(size=(n, 1))
    added = np.cos(1.2 * np.arange(1, rows + 1))
    for t in range(rows):
        x[:, t + 1] = 1.5 * np.tanh(2 * x[:, t]) + added[t] + 0.3 * rng.normal(size=(n, 1))
    found = time_profile(x)
    assert found.shape == (rows + 1, 1)
    assert np.corrcoef(found[1:, 0], added)[0, 1] > 0.98


def test_a_law_without_time_has_no_profile():
    assert time_profile(0.9 * walk(200, 60, drift=0.0) / 5) is None
    wave = np.zeros((200, 60, 1))  # it rises and falls along time, by its own law alone
    wave[:, 0] = 3.0
    rng = np.random.default_rng(0)
    for t in range(1, 60):
        wave[:, t] = 0.8 * wave[:, t - 1] + 0.2 * rng.normal(size=(200, 1))
    assert time_profile(wave) is None


@pytest.mark.slow
def test_the_profile_is_known_to_the_kernel():
    rng = np.random.default_rng(2)
    states = np.cos(1.2 * np.arange(13.0))[None, :, None] + 0.1 * rng.normal(size=(60, 13, 1))
    kernel = learn_transition(jax.random.key(0), 1, QUICK, simulated(states)).kernel
    assert kernel.spec.profile == (13, 1)
    assert kernel.scaling.standardise_u(jnp.zeros((13, 0))).shape == (13, 1)


def test_paths_are_followed_until_they_leave_the_others():
    paths = walk(40)
    wild = paths.copy()
    wild[3, 6:] = 1e6 * paths[3, 6:] ** 2 + 1e3
    found = followed(wild, np.arange(40) >= 10, ("none",))
    assert np.isnan(found[3, 7:]).all()
    np.testing.assert_array_equal(found[3, :7], wild[3, :7])  # the row that leaves is a row like others
    others = np.arange(40) != 3
    np.testing.assert_array_equal(found[others], wild[others])


def test_paths_that_are_far_apart_on_a_logarithmic_scale_alone_are_all_followed():
    paths = np.exp(3.0 * walk(40))
    np.testing.assert_array_equal(followed(paths, np.ones(40, bool), ("log",)), paths)
    assert np.isnan(followed(paths, np.arange(40) < 10, ("none",))).any()


def test_an_entry_that_most_paths_never_move_is_no_reason_to_leave_one():
    states = np.zeros((40, 13, 1))
    states[:5, 6:] = 1.0
    np.testing.assert_array_equal(followed(states, np.ones(40, bool), ("none",)), states)
