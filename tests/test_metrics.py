import numpy as np
import pytest
from scipy.stats import norm

from tsnl.metrics import c2st, total_variation

GRID = np.linspace(-12, 12, 20_001)


@pytest.mark.parametrize("delta", [0.0, 0.3, 1.0, 4.0])
def test_total_variation_of_shifted_gaussians(delta):
    found = total_variation(norm.pdf(GRID, 0, 1), norm.pdf(GRID, delta, 1), GRID)
    np.testing.assert_allclose(found, 2 * norm.cdf(delta / 2) - 1, atol=1e-6)


def test_total_variation_of_gaussians_of_other_width():
    """They cross at x^2 = 2 log(s) s^2 / (s^2 - 1)."""
    s = 2.0
    x = np.sqrt(2 * np.log(s) * s**2 / (s**2 - 1))
    expected = 2 * (norm.cdf(x) - norm.cdf(x / s))
    found = total_variation(norm.pdf(GRID), norm.pdf(GRID, 0, s), GRID)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_total_variation_normalises_and_is_symmetric():
    p, q = norm.pdf(GRID), norm.pdf(GRID, 1)
    found = total_variation(7 * p, 0.1 * q, GRID)
    np.testing.assert_allclose(found, total_variation(q, p, GRID), rtol=1e-9)
    uneven = np.sinh(np.linspace(-4, 4, 20_001)) / 2
    again = total_variation(norm.pdf(uneven), norm.pdf(uneven, 1), uneven)
    np.testing.assert_allclose(again, found, atol=1e-4)


def test_disjoint_densities():
    low, high = 1.0 * (GRID < -1), 1.0 * (GRID > 1)
    np.testing.assert_allclose(total_variation(low, high, GRID), 1, atol=1e-6)


@pytest.mark.parametrize("delta", [0.0, 1.0, 3.0, 50.0])
def test_c2st_finds_the_best_accuracy(delta):
    """Phi(delta / 2) for Gaussians delta apart; a trained network falls a little short."""
    rng = np.random.default_rng(0)
    p, q = rng.normal(size=(1000, 2)), rng.normal(size=(1000, 2))
    q[:, 0] += delta
    best = norm.cdf(delta / 2)
    error = np.sqrt(best * (1 - best) / 2000)
    found = c2st(p, q, num_steps=200)
    assert best - 3 * error - 0.03 < found < best + 3 * error + 0.005


def test_c2st_does_not_mind_the_scale():
    rng = np.random.default_rng(1)
    p, q = rng.normal(size=(1000, 2)), rng.normal(size=(1000, 2)) + np.array([1.0, 0.0])
    scale = np.array([1e6, 1e-6])
    assert abs(c2st(p, q, num_steps=200) - c2st(p * scale, q * scale, num_steps=200)) < 0.02


def test_c2st_is_reproducible():
    rng = np.random.default_rng(2)
    p, q = rng.normal(size=(1000, 2)), rng.normal(size=(1000, 2))
    assert c2st(p, q, num_steps=200, seed=4) == c2st(p, q, num_steps=200, seed=4)


@pytest.mark.usefixtures("unchecked")
def test_c2st_wants_equal_shapes():
    with pytest.raises(ValueError, match=r"p has shape \(5, 1\) and q \(4, 1\): give equal numbers"):
        c2st(np.zeros((5, 1)), np.zeros((4, 1)))
