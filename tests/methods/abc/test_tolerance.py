import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from tsnl.methods.abc import tolerance
from tsnl.methods.abc.tolerance import Ratio, accept, fit_alpha, fit_ratio, log_weight, squares, tighten


def equal(n):
    return np.full(n, 1 / n)


def clouds(scale, size, seed, n=1000):
    rng = np.random.default_rng(seed)
    return scale * rng.normal(size=(n, size)), rng.normal(size=(n, size))


def fitted(new, old):
    ratio = fit_ratio(new, equal(len(new)), old, equal(len(old)))
    return ratio, ratio.supremum(np.concatenate([old, new]))


@pytest.mark.parametrize(("scale", "size"), [(0.5, 1), (0.7, 1), (0.7, 2), (0.9, 2)])
def test_supremum_of_two_gaussians(scale, size):
    """N(0, s^2) over N(0, 1) has the supremum s^-size, at zero.

    Over 6 seeds the estimate's sd was at most 0.07 of c, its bias at most 0.07: the median of three is
    off by less than 0.07 + 3 * 0.07 / sqrt(3) = 0.19.
    """
    found = [fitted(*clouds(scale, size, seed))[1] for seed in range(3)]
    np.testing.assert_allclose(np.median(found), scale**-size, rtol=0.19)


def test_the_ratio_of_two_gaussians():
    ratio, _ = fitted(*clouds(0.6, 1, 0, n=2000))
    grid = np.linspace(-1.2, 1.2, 21)[:, None]
    exact = np.exp(-(grid[:, 0] ** 2) / 2 * (0.6**-2 - 1)) / 0.6
    np.testing.assert_allclose(ratio(grid), exact, atol=0.25)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_clouds_of_one_law_have_a_ratio_of_one(size):
    found = [fitted(*clouds(1.0, size, seed))[1] for seed in range(3)]
    assert 1 <= np.median(found) < 1 / 0.99


@given(
    st.integers(1, 3),
    st.floats(0.05, 3),
    st.floats(-2, 2),
    st.integers(12, 60),
    st.integers(0, 2**16),
)
def test_the_mean_over_the_old_is_one_and_so_the_supremum_at_least_one(size, scale, shift, n, seed):
    rng = np.random.default_rng(seed)
    new, old = shift + scale * rng.normal(size=(n, size)), rng.normal(size=(2 * n, size))
    new_weights, old_weights = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(2 * n))
    ratio = fit_ratio(new, new_weights, old, old_weights)
    assert (ratio.alpha >= 0).all()
    np.testing.assert_allclose(old_weights @ ratio(old), 1, rtol=1e-6)
    points = np.concatenate([old, new])
    assert ratio.supremum(points) >= max(1 - 1e-6, ratio(points).max() - 1e-9)


def test_normalised_to_a_sum_of_one_it_would_be_below_one():
    """The sum over N particles, in place of their mean, divides the ratio by N."""
    new, old = clouds(0.5, 1, 0, n=400)
    ratio, c = fitted(new, old)
    np.testing.assert_allclose(ratio(old).sum(), len(old), rtol=1e-6)
    assert c > 1 > c / len(old)


def test_the_fixed_point_climbs(monkeypatch):
    new, old = clouds(0.5, 1, 0, n=200)
    E, e0 = np.exp(-squares(new, old) / 2), np.exp(-squares(old, old) / 2).mean(axis=0)
    monkeypatch.setattr(tolerance, "SMALL", 0.0)
    scores = []
    for steps in (1, 5, 20, 100):
        monkeypatch.setattr(tolerance, "MAX_STEPS", steps)
        alpha = fit_alpha(E, equal(200), e0)
        np.testing.assert_allclose(alpha @ e0, 1)
        scores.append(np.log(E @ alpha).mean())
    assert (np.diff(scores) > 0).all()


def test_the_fixed_point_is_the_constrained_maximum(monkeypatch):
    rng = np.random.default_rng(0)
    E, e0 = rng.uniform(0.1, 1, (30, 3)), rng.uniform(0.5, 1, 3)
    monkeypatch.setattr(tolerance, "MAX_STEPS", 20_000)
    monkeypatch.setattr(tolerance, "SMALL", 0.0)
    found = np.log(E @ fit_alpha(E, equal(30), e0)).mean()

    def negative(x):
        alpha = np.exp(x) / (np.exp(x) @ e0)
        return -np.log(E @ alpha).mean()

    best = optimize.minimize(negative, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-9})
    np.testing.assert_allclose(found, -best.fun, atol=1e-5)


def test_weights_count_as_copies():
    new, old = clouds(0.5, 1, 1, n=50)
    E, e0 = np.exp(-squares(new, old) / 2), np.exp(-squares(old, old) / 2).mean(axis=0)
    copies = np.arange(50) % 3 + 1
    one = fit_alpha(E, copies / copies.sum(), e0)
    other = fit_alpha(np.repeat(E, copies, axis=0), equal(copies.sum()), e0)
    np.testing.assert_allclose(one, other, rtol=1e-8)


def test_the_supremum_is_found_between_the_particles():
    centres = np.array([[-4.0], [2.0], [3.0]])
    ratio = Ratio(centres, np.array([1.3, 0.9, 0.9]), 1.0, np.eye(1))
    grid = np.linspace(-6, 6, 100_001)[:, None]
    assert ratio(centres).max() < 1.5
    np.testing.assert_allclose(ratio.supremum(centres), ratio(grid).max(), rtol=1e-4)


distances_ = st.lists(st.floats(0.01, 100), min_size=1, max_size=40).map(np.array)


@given(distances_, st.floats(0.01, 1), st.integers(0, 99))
def test_the_next_tolerance_is_the_smallest_that_keeps_the_share(distances, share, seed):
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(distances)))
    found = tighten(distances, weights, 200.0, share, "uniform")
    assert weights[distances <= found].sum() >= share - 1e-6
    assert weights[distances < found].sum() <= share + 1e-6


def test_of_equal_weights_it_is_the_quantile():
    assert tighten(np.arange(1.0, 101), equal(100), 100.0, 0.25, "uniform") == 25


@given(distances_, st.floats(0.05, 0.95), st.floats(0.5, 50))
def test_a_gaussian_weight_keeps_the_share_too(distances, share, before):
    after = tighten(distances, np.ones(len(distances)), before, share, "gaussian")
    assert after <= before * (1 + 1e-9)
    change = log_weight(distances, after, "gaussian") - log_weight(distances, before, "gaussian")
    np.testing.assert_allclose(np.exp(change).mean(), share, rtol=1e-3)


def test_distance_weights():
    d = np.array([0.0, 1.0, 2.0, np.inf])
    assert np.exp(log_weight(d, 1.0, "uniform")).tolist() == [1, 1, 0, 0]
    np.testing.assert_allclose(np.exp(log_weight(d, 1.0, "gaussian")), np.exp([0, -0.5, -2, -np.inf]))
    np.testing.assert_allclose(np.exp(log_weight(d, 0.0, "gaussian")), [1, 0, 0, 0])
    rng = np.random.default_rng(0)
    assert accept(rng, d, 1.0, "uniform").tolist() == [True, True, False, False]
    rate = accept(rng, np.full(10_000, 1.0), 1.0, "gaussian").mean()
    assert abs(rate - np.exp(-0.5)) < 4 * 0.5 / 100
