import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsnl.likelihood.correction import Correction, fit_correction, within

CENTRE, COVARIANCE = np.array([1.0, -2.0]), np.array([[0.04, 0.01], [0.01, 0.09]])


def quadratic(z):
    x = z - CENTRE
    return 30.0 + 4.0 * x[..., 0] - 3.0 * x[..., 1] - 6.0 * x[..., 0] ** 2 + 2.0 * x[..., 0] * x[..., 1]


def points(n, seed=0, widen=1.3):
    return np.random.default_rng(seed).multivariate_normal(CENTRE, widen**2 * COVARIANCE, size=n)


def fitted(function, sd, n=200, capacity=256):
    z = points(n)
    values = function(z) + sd * np.random.default_rng(1).normal(size=n)
    return fit_correction(z, values, np.full(n, max(sd, 0.05)), CENTRE, COVARIANCE, capacity)


def test_a_quadratic_is_found_within_the_error_of_regression():
    correction, z = fitted(quadratic, 1.0), points(400, seed=2, widen=1.0)
    found = np.asarray(jax.vmap(correction)(jnp.asarray(z, dtype=float)))
    error = found - quadratic(z)
    # six coefficients from 200 values of sd 1: a mean square error of about 6 / 200
    assert np.sqrt(np.mean(error**2)) < 3 * np.sqrt(6 / 200)


def test_what_no_quadratic_can_say_is_found_too():
    def bent(z):
        return quadratic(z) + 3 * np.sin((z[..., 0] - CENTRE[0]) / 0.2 * 1.2)

    correction, z = fitted(bent, 0.3), points(400, seed=2, widen=1.0)
    error = np.asarray(jax.vmap(correction)(jnp.asarray(z, dtype=float))) - bent(z)
    assert np.sqrt(np.mean(error**2)) < 0.5  # a quadratic alone is off by about 1.5


def test_far_out_it_falls_like_a_normal_density():
    # what it says at the border, less half the square of the whitened distance from there
    correction = fitted(quadratic, 0.1)
    root, direction = np.linalg.cholesky(COVARIANCE), np.array([0.6, 0.8])
    reach = float(correction.reach)
    far = [float(correction(jnp.asarray(CENTRE + root @ (r * direction)))) for r in (100.0, 101.0)]
    assert far[1] - far[0] == pytest.approx(-(100.5 - reach), rel=1e-2)


def test_room_for_more_points_changes_nothing():
    few, many = fitted(quadratic, 0.5, capacity=200), fitted(quadratic, 0.5, capacity=500)
    assert many.points.shape == (500, 2)
    z = jnp.asarray(CENTRE + 0.1)
    assert float(few(z)) == pytest.approx(float(many(z)), abs=1e-3)
    assert isinstance(few, Correction)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=6), st.floats(0.5, 20.0))
def test_points_stay_within_a_ball_and_near_ones_stay_where_they_are(values, reach):
    x = np.array(values)
    found = within(x, reach)
    assert np.linalg.norm(found) <= reach * (1 + 1e-6)
    if np.linalg.norm(x) < 0.5 * reach:
        np.testing.assert_allclose(found, x, rtol=2e-3, atol=1e-6)


def test_it_reaches_as_far_as_it_has_points():
    # a slope, learned within three sds, would make the far tail of a posterior heavier without end
    correction = fitted(quadratic, 0.1)
    x = (points(200) - CENTRE) @ np.linalg.inv(np.linalg.cholesky(COVARIANCE)).T
    assert float(correction.reach) < np.linalg.norm(x, axis=1).max()
    share = correction.beyond(points(5000, seed=3))  # a hundredth, up to the chance of 200 points
    assert 0 < share < 0.01 + 4.5 * np.sqrt(0.01 * 0.99 / 200)
    assert correction.beyond(points(5000, seed=3, widen=0.5)) < 0.01
