import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tsnl
from tsnl.models import Filterable
from tsnl.models.base import observation_shape, observed_trajectory, trajectory


class Level(tsnl.StateSpaceModel):
    """A local level with an input that moves it, written as a user would."""

    step: float = 0.3
    noise: float = 0.5

    def sample_initial(self, key, theta):
        return jnp.zeros(())

    def sample_transition(self, key, state, theta, t, u):
        push = 0.0 if u is None else u
        return state + push + theta["step"] * jax.random.normal(key)

    def sample_observation(self, key, state, theta, t, u):
        return state + theta["noise"] * jax.random.normal(key)


class Clock(Level):
    """The state is the time index itself."""

    def sample_transition(self, key, state, theta, t, u):
        return jnp.asarray(t, float)


def test_a_model_in_ten_lines():
    series, states = Level().simulate(seed=1, length=30, return_states=True)
    assert series.shape == (30, 1)
    assert states.shape == (30,)
    assert isinstance(series, np.ndarray)
    assert observation_shape(Level()) == ()


def test_seed_decides_and_length_does_not():
    a = Level().simulate(seed=1, length=30)
    np.testing.assert_array_equal(a, Level().simulate(seed=1, length=30))
    np.testing.assert_array_equal(a[:10], Level().simulate(seed=1, length=10))
    assert not np.array_equal(a, Level().simulate(seed=2, length=30))


def test_time_counts_from_one():
    _, states = Clock().simulate(seed=0, length=4, return_states=True)
    np.testing.assert_array_equal(states, [1, 2, 3, 4])


def test_theta_replaces_the_models_values():
    quiet = Level().simulate(seed=1, length=50, theta={"step": 0.0, "noise": 0.0})
    np.testing.assert_array_equal(quiet, 0)


def test_inputs_reach_the_laws():
    u = np.arange(5.0)
    series = Level().simulate(seed=1, length=5, theta={"step": 0.0, "noise": 0.0}, inputs=u)
    np.testing.assert_allclose(series[:, 0], np.cumsum(u))


def test_capability_is_a_type():
    assert not isinstance(Level(), Filterable)
    assert isinstance(tsnl.models.LinearGaussian(), Filterable)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"length": 0}, "length is 0"),
        ({"length": 5, "theta": {"sigma": 1.0}}, r"no parameter \['sigma'\]; it has"),
        ({"length": 5, "inputs": np.ones(3)}, "inputs has 3 rows, expected 5"),
    ],
)
def test_bad_calls(call, message):
    with pytest.raises(ValueError, match=message):
        Level().simulate(seed=0, **call)


def test_views_share_the_states_and_have_noise_of_their_own():
    key = jax.random.key(3)
    states, series = trajectory(key, Level(), {}, 400)
    _, same, views = observed_trajectory(key, Level(), {}, 400, None, 5)
    np.testing.assert_array_equal(same, states)
    np.testing.assert_array_equal(views[0], series)
    noise = np.asarray(views[:, :, 0] - states)
    between = np.corrcoef(noise)[np.triu_indices(5, 1)]
    assert np.abs(between).max() < 4.5 / np.sqrt(400)
    np.testing.assert_allclose(noise.std(axis=1), 0.5, atol=4.5 * 0.5 / np.sqrt(800))


def test_views_without_noise_are_the_same_series():
    *_, views = observed_trajectory(jax.random.key(3), Level(), {"noise": 0.0}, 20, None, 3)
    np.testing.assert_array_equal(views[1:], np.broadcast_to(views[:1], (2, 20, 1)))
