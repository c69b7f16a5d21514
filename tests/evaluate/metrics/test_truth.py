import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from tsnl.evaluate.metrics import (
    bias,
    errors,
    kde_error,
    kde_error_bounds,
    min_distance,
    rmse,
    silverman,
    standard_deviation,
)


@st.composite
def questions(draw):
    """Draws and a truth of any scale and offset, 1 to 60 draws in 1 to 5 coordinates."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    num_draws, size = draw(st.integers(1, 60)), draw(st.integers(1, 5))
    scale, offset = draw(st.floats(1e-3, 1e3)), draw(st.floats(-100, 100))
    return scale * rng.normal(size=(num_draws, size)) + offset, scale * rng.normal(size=size)


@given(questions(), st.floats(0.01, 100))
def test_bounds_hold_the_kde_error(question, bandwidth):
    draws, truth = question
    low, high = kde_error_bounds(min_distance(draws, truth), *draws.shape, bandwidth)
    slack = 1e-9 * (1 + abs(low))
    assert low - slack <= kde_error(draws, truth, bandwidth) <= high + slack


def test_bounds_are_reached():
    """From above by one draw among others far away, from below by equal draws."""
    truth = np.zeros(2)
    far = np.array([[3.0, 0.0], [1e4, 0.0], [0.0, 1e4]])
    np.testing.assert_allclose(kde_error(far, truth), kde_error_bounds(3.0, 3, 2)[1], rtol=1e-12)
    equal = np.tile([3.0, 0.0], (7, 1))
    np.testing.assert_allclose(kde_error(equal, truth), kde_error_bounds(3.0, 7, 2)[0], rtol=1e-12)


@given(questions(), st.floats(0.1, 10))
def test_kde_error_is_a_mixture_of_normals(question, bandwidth):
    draws, truth = question
    density = multivariate_normal(truth, bandwidth**2 * np.eye(len(truth))).pdf(draws)
    expected = np.mean(density)
    if expected > 1e-250:
        np.testing.assert_allclose(kde_error(draws, truth, bandwidth), -np.log(expected), rtol=1e-6)


def test_silverman_finds_the_density():
    """The estimate at the mode of a normal law: bias -h^2/2, variance 1 / (2 n h sqrt(pi)) relative."""
    draws = 1e-3 * np.random.default_rng(0).normal(size=(10_000, 1))
    h = silverman(draws)[0] / 1e-3
    expected = -np.log(1e3 / np.sqrt(2 * np.pi))
    error = 4 * np.sqrt(np.sqrt(2 * np.pi) / (2 * 10_000 * h * np.sqrt(np.pi))) + h**2 / 2
    assert abs(kde_error(draws, np.zeros(1), "silverman") - expected) < error


def test_silverman_has_the_units_of_the_draws():
    draws, scale = np.random.default_rng(1).normal(size=(50, 3)), np.array([1e-4, 1.0, 1e4])
    np.testing.assert_allclose(silverman(draws * scale), silverman(draws) * scale)
    found = kde_error(draws * scale, np.zeros(3), "silverman")
    np.testing.assert_allclose(found, kde_error(draws, np.zeros(3), "silverman"))


@given(questions())
def test_rmse_is_bias_and_spread(question):
    draws, truth = question
    expected = np.sqrt(np.mean(np.sum((draws - truth) ** 2, axis=1)))
    np.testing.assert_allclose(rmse(draws, truth), expected, rtol=1e-9)
    parts = bias(draws, truth) ** 2 + standard_deviation(draws) ** 2
    np.testing.assert_allclose(rmse(draws, truth) ** 2, parts, rtol=1e-9)
    assert min_distance(draws, truth) <= rmse(draws, truth) * (1 + 1e-9)


@given(questions(), st.integers(0, 2**32 - 1))
def test_errors_mind_neither_order_nor_a_common_shift(question, seed):
    draws, truth = question
    rng = np.random.default_rng(seed)
    moved = rng.permutation(draws) + 1.0
    found, expected = errors(moved, truth + 1.0), errors(draws, truth)
    assert list(found) == ["kde", "min", "bias", "sd", "rmse"]
    np.testing.assert_allclose(list(found.values()), list(expected.values()), rtol=1e-6, atol=1e-9)


def test_single_precision_draws_lose_nothing():
    draws = (1e3 + np.random.default_rng(2).normal(size=(20_000, 1))).astype(np.float32)
    exact = draws.astype(np.float64)
    np.testing.assert_allclose(standard_deviation(draws), exact.std(), rtol=1e-9)
    np.testing.assert_allclose(bias(draws, np.zeros(1)), exact.mean(), rtol=1e-9)


def test_constant_draws_have_no_silverman_bandwidth():
    with pytest.raises(ValueError, match=r"bandwidth is \[0.0\], expected positive"):
        kde_error(np.ones((5, 1)), np.ones(1), "silverman")
