import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp, norm, wasserstein_distance

from tsnl.evaluate.metrics import (
    c2st,
    kolmogorov_smirnov,
    marginal_total_variation,
    sliced_wasserstein,
    squared_mmd,
    total_variation,
)

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


@pytest.mark.parametrize("delta", [0.0, 1.0, 50.0])
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
    p, q = rng.normal(size=(300, 2)), rng.normal(size=(300, 2)) + np.array([1.0, 0.0])
    scale = np.array([1e6, 1e-6])
    assert abs(c2st(p, q, num_steps=200) - c2st(p * scale, q * scale, num_steps=200)) < 0.02


def test_c2st_is_reproducible():
    rng = np.random.default_rng(2)
    p, q = rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    assert c2st(p, q, num_steps=50, seed=4) == c2st(p, q, num_steps=50, seed=4)


@pytest.mark.usefixtures("unchecked")
def test_c2st_wants_equal_shapes():
    with pytest.raises(ValueError, match=r"p has shape \(5, 1\) and q \(4, 1\): give equal numbers"):
        c2st(np.zeros((5, 1)), np.zeros((4, 1)))


@st.composite
def pairs(draw):
    """Two samples in 1 to 3 coordinates, of 5 to 60 draws, some of them repeated."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size, digits = draw(st.integers(1, 3)), draw(st.integers(0, 6))
    shift = draw(st.floats(-2, 2))
    n, m = draw(st.integers(5, 60)), draw(st.integers(5, 60))
    return np.round(rng.normal(size=(n, size)), digits), np.round(
        rng.normal(shift, size=(m, size)), digits
    )


@given(pairs())
def test_kolmogorov_smirnov_is_scipys(samples):
    p, q = samples
    expected = [ks_2samp(a, b, method="asymp").statistic for a, b in zip(p.T, q.T, strict=True)]
    np.testing.assert_allclose(kolmogorov_smirnov(p, q), expected, atol=1e-12)


@given(pairs())
def test_kolmogorov_smirnov_is_a_distance_of_ranks(samples):
    p, q = samples
    found = kolmogorov_smirnov(p, q)
    assert (found >= 0).all()
    assert (found <= 1).all()
    np.testing.assert_array_equal(kolmogorov_smirnov(q, p), found)
    np.testing.assert_array_equal(kolmogorov_smirnov(np.exp(p), np.exp(q)), found)
    np.testing.assert_array_equal(kolmogorov_smirnov(p, p), 0)


def test_marginal_total_variation_of_shifted_gaussians():
    """Off by no more than the smoothing, h^2 of the variance, and the noise of two estimates."""
    rng = np.random.default_rng(3)
    n, shifts = 20_000, np.array([0.0, 0.5, 2.0, 40.0])
    found = marginal_total_variation(rng.normal(size=(n, 4)), rng.normal(shifts, size=(n, 4)))
    expected = 2 * norm.cdf(shifts / 2) - 1
    np.testing.assert_allclose(found, expected, atol=1.2 * n**-0.4)
    assert found[0] < 1.2 * n**-0.4


@given(pairs())
def test_marginal_total_variation_is_symmetric_and_bounded(samples):
    p, q = (x + np.linspace(0, 1e-3, len(x))[:, None] for x in samples)
    found = marginal_total_variation(p, q)
    assert (found >= 0).all()
    assert (found <= 1 + 1e-9).all()
    if len(p) != len(q):
        np.testing.assert_allclose(marginal_total_variation(q, p), found, atol=1e-9)
    scaled = marginal_total_variation(1e3 * p, 1e3 * q)
    np.testing.assert_allclose(scaled, found, atol=0.02)  # a draw may fall on the other side of an edge


@given(pairs())
def test_wasserstein_in_one_dimension_is_scipys(samples):
    p, q = (x[:, :1] for x in samples)
    expected = wasserstein_distance(p[:, 0], q[:, 0])
    np.testing.assert_allclose(sliced_wasserstein(p, q, order=1.0), expected, atol=1e-12)


@given(pairs(), st.floats(1.0, 3.0))
def test_sliced_wasserstein_is_a_distance(samples, order):
    p, q = samples
    found = sliced_wasserstein(p, q, order=order)
    np.testing.assert_allclose(sliced_wasserstein(q, p, order=order), found, rtol=1e-9)
    assert sliced_wasserstein(p, p, order=order) == 0
    third = np.zeros((7, p.shape[1]))
    detour = sliced_wasserstein(p, third, order=order) + sliced_wasserstein(third, q, order=order)
    assert found <= detour + 1e-9
    scale = np.full(p.shape[1], 10.0)
    np.testing.assert_allclose(sliced_wasserstein(p, q, order=order, scale=scale), found / 10, rtol=1e-9)


@given(pairs(), st.floats(-5, 5))
def test_sliced_wasserstein_of_a_shift(samples, shift):
    """A shifted copy lies |u . shift| away in every direction, |shift| / sqrt(size) in the mean."""
    p = samples[0]
    found = sliced_wasserstein(p, p + shift, num_directions=2000)
    # (u . 1)^2 has mean 1 and variance below 2 for u on the sphere
    np.testing.assert_allclose(found**2, shift**2, rtol=5 * np.sqrt(2 / 2000), atol=1e-12)


@pytest.mark.parametrize(("delta", "spread"), [(1.0, 1.0), (0.0, 2.0), (3.0, 0.5)])
def test_sliced_wasserstein_of_gaussians(delta, spread):
    """SW_2^2 = |delta|^2 / size + (1 - spread)^2; of n draws it has an error of a few / sqrt(n)."""
    rng, n, size = np.random.default_rng(4), 4000, 3
    shift = np.array([delta, 0.0, 0.0])
    p, q = rng.normal(size=(n, size)), shift + spread * rng.normal(size=(n // 2, size))
    expected = np.sqrt(delta**2 / size + (1 - spread) ** 2)
    directions = 4 * delta / np.sqrt(500)
    noise = 4 * np.sqrt((1 + 2 * spread**2) / n)
    assert abs(sliced_wasserstein(p, q, num_directions=500) - expected) < directions + noise


@given(st.integers(0, 2**32 - 1))
def test_squared_mmd_is_the_sum_over_pairs(seed):
    rng = np.random.default_rng(seed)
    p, q = rng.normal(size=(6, 2)) + 1e3, rng.normal(size=(4, 2)) + 1e3

    def mean_kernel(x, y):
        values = [np.exp(-np.sum((a - b) ** 2) / 2) for i, a in enumerate(x) for j, b in enumerate(y)]
        keep = [x is not y or i != j for i in range(len(x)) for j in range(len(y))]
        return np.mean(np.array(values)[keep])

    expected = mean_kernel(p, p) + mean_kernel(q, q) - 2 * mean_kernel(p, q)
    np.testing.assert_allclose(squared_mmd(p, q, bandwidth=1.0), expected, atol=1e-9)
    np.testing.assert_allclose(squared_mmd(q, p), squared_mmd(p, q), atol=1e-9)
    scale = np.full(2, 10.0)
    np.testing.assert_allclose(squared_mmd(10 * p, 10 * q, scale=scale), squared_mmd(p, q), atol=1e-9)


@pytest.mark.parametrize("bandwidth", [None, 0.7])
def test_squared_mmd_is_zero_in_the_mean_for_equal_laws(bandwidth):
    rng = np.random.default_rng(5)
    laws = (rng.normal(size=(2, 60, 2)) for _ in range(400))
    found = np.array([squared_mmd(p, q[:40], bandwidth=bandwidth) for p, q in laws])
    assert abs(found.mean()) < 4 * found.std() / np.sqrt(len(found))
    assert found.min() < 0


@pytest.mark.parametrize("delta", [0.0, 0.5, 2.0])
def test_squared_mmd_of_gaussians(delta):
    """2 (h^2 / (h^2 + 2))^(d/2) (1 - exp(-|delta|^2 / (2 h^2 + 4))), unbiased over many samples."""
    rng, h, size = np.random.default_rng(6), 1.3, 3
    shift = np.array([delta, 0.0, 0.0])
    found = np.array(
        [
            squared_mmd(rng.normal(size=(50, size)), rng.normal(size=(70, size)) + shift, bandwidth=h)
            for _ in range(200)
        ]
    )
    expected = 2 * (h**2 / (h**2 + 2)) ** (size / 2) * (1 - np.exp(-(delta**2) / (2 * h**2 + 4)))
    assert abs(found.mean() - expected) < 4 * found.std() / np.sqrt(len(found))


def test_squared_mmd_in_blocks():
    rng = np.random.default_rng(7)
    p, q = rng.normal(size=(2300, 1)), rng.normal(size=(1100, 1))
    gaps = [np.exp(-((a - b.T) ** 2) / 2) for a, b in ((p, p), (q, q), (p, q))]
    expected = (gaps[0].sum() - 2300) / (2300 * 2299) + (gaps[1].sum() - 1100) / (1100 * 1099)
    expected -= 2 * gaps[2].mean()
    np.testing.assert_allclose(squared_mmd(p, q, bandwidth=1.0), expected, rtol=1e-7)


def test_squared_mmd_of_constant_draws():
    with pytest.raises(ValueError, match=r"bandwidth is 0\.0, expected positive"):
        squared_mmd(np.ones((5, 1)), np.ones((5, 1)))
