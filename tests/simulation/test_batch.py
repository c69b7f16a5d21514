import jax
import numpy as np
import pytest

from tsnl.models import LinearGaussian, StochasticVolatility
from tsnl.simulation import simulate
from tsnl.simulation.batch import CHUNK


@pytest.mark.parametrize(
    ("model", "theta"),
    [
        (LinearGaussian(), {"Q": np.linspace(0.1, 1.0, 11)}),
        (StochasticVolatility(), {"b": np.linspace(-1.0, 1.0, 11)}),
        (LinearGaussian(A=np.eye(3) * 0.5 + 0.1), {"r_0": np.linspace(0, 1, 33).reshape(11, 3)}),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 5])
def test_values_do_not_depend_on_the_batch(model, theta, size):
    key = jax.random.key(2)
    whole = simulate(key, model, theta, 20).series
    for start in range(0, 11, size):
        part = {name: value[start : start + size] for name, value in theta.items()}
        again = simulate(key, model, part, 20, first=start).series
        np.testing.assert_array_equal(again, whole[start : start + size])


def test_many_chunks_are_one_batch():
    key, theta = jax.random.key(2), {"Q": np.linspace(0.1, 1.0, 2 * CHUNK + 3)}
    whole = simulate(key, LinearGaussian(), theta, 20).series
    tail = simulate(key, LinearGaussian(), {"Q": theta["Q"][-5:]}, 20, first=2 * CHUNK - 2).series
    assert whole.shape == (2 * CHUNK + 3, 20, 1)
    np.testing.assert_array_equal(whole[-5:], tail)


def test_members_differ_and_theta_is_used():
    same = simulate(jax.random.key(0), LinearGaussian(), {"Q": np.full(3, 0.1)}, 10).series
    assert not np.array_equal(same[0], same[1])
    loud = simulate(jax.random.key(0), LinearGaussian(), {"r_0": np.array([0.0, 100.0])}, 10).series
    assert (loud[1] > 50).all()


def test_cost_counts_calls_of_the_dynamics():
    simulations = simulate(jax.random.key(0), LinearGaussian(), {"Q": np.full(7, 0.1)}, 13)
    assert simulations.cost == 7 * 13
    assert simulations.series.shape == (7, 13, 1)
    assert simulations.num_failed == 0


@pytest.mark.parametrize(
    ("theta", "length", "message"),
    [
        ({}, 5, "theta is empty"),
        ({"Q": 0.1}, 5, "batch axis"),
        ({"Q": np.ones(2), "R": np.ones(3)}, 5, "batch axis"),
        ({"Q": np.ones(0)}, 5, "0 simulations"),
        ({"Q": np.ones(2)}, 0, "length 0"),
        ({"S": np.ones(2)}, 5, r"no parameter \['S'\]"),
    ],
)
def test_bad_calls(theta, length, message):
    with pytest.raises(ValueError, match=message):
        simulate(jax.random.key(0), LinearGaussian(), theta, length)


def test_views_are_further_series_of_the_same_paths():
    key, theta = jax.random.key(2), {"Q": np.linspace(0.1, 1.0, CHUNK + 3)}
    plain = simulate(key, LinearGaussian(), theta, 20)
    seen = simulate(key, LinearGaussian(), theta, 20, num_views=4)
    assert plain.views is None
    assert seen.views.shape == (CHUNK + 3, 3, 20, 1)
    assert seen.cost == plain.cost
    np.testing.assert_allclose(seen.series, plain.series, rtol=1e-6)
    part = simulate(key, LinearGaussian(), {"Q": theta["Q"][5:]}, 20, first=5, num_views=4)
    np.testing.assert_array_equal(part.views, seen.views[5:])


def test_states_are_those_behind_the_series():
    key, theta = jax.random.key(2), {"R": np.full(5, 1e-10)}
    found = simulate(key, LinearGaussian(), theta, 20, keep_states=True)
    assert found.states.shape == (5, 21, 1)
    np.testing.assert_allclose(found.states[:, 1:], found.series, atol=1e-3)  # seen without noise
    assert simulate(key, LinearGaussian(), theta, 20).states is None
