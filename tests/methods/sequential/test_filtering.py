import numpy as np
import pytest

from tsnl.methods.sequential.filtering import Looks, num_points, smooth_variance, variance_of_two


@pytest.mark.parametrize(("size", "points"), [(1, 64), (3, 64), (4, 64), (8, 192), (20, 192)])
def test_more_parameters_take_more_filter_runs(size, points):
    assert num_points(size) == points


def test_more_simulations_are_worth_more_filter_runs():
    assert [num_points(3, growth) for growth in (1.0, 2.0, 4.0)] == [64, 96, 160]
    assert num_points(8, 4.0) == 384


def noisy(n=400, particles=400, seed=0):
    """Points, true log-likelihoods, and variances of one run that change over the points."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    variance = np.exp(0.3 + x @ [0.5, -0.3]) * 400 / particles
    right = -0.5 * (x**2).sum(axis=1)
    runs = right - variance / 2 + np.sqrt(variance) * rng.normal(size=(2, n))  # of mean one, logged
    square = (runs[0] - runs[1]) ** 2 / 2
    return (
        x,
        right,
        variance,
        Looks(x, runs.mean(axis=0), square, np.full(n, 2.0), np.full(n, particles)),
    )


def test_variances_that_change_are_found_from_pairs_of_runs():
    x, _, variance, looks = noisy()
    found = smooth_variance(x, looks.square)
    # a regression on 400 chi-squares of one degree of freedom: sqrt(2 / 400) for each of three weights
    assert np.std(np.log(found / variance)) < 4.5 * np.sqrt(3 * 2 / 400)
    assert abs(np.mean(np.log(found / variance))) < 4.5 * np.sqrt(2 / 400)


def test_what_noise_takes_from_a_likelihood_is_given_back():
    x, right, variance, one = noisy()
    more_x, more_right, more_variance, more = noisy(particles=1600, seed=1)
    looks = one.and_(more)
    value, sds = looks.levelled(np.concatenate([x, more_x]))
    error = value - np.concatenate([right, more_right])
    share = np.concatenate([variance, more_variance]) / 2
    np.testing.assert_allclose(sds**2, share, rtol=0.6)
    for some in (slice(0, 400), slice(400, 800)):  # of few particles, and of many
        se = np.sqrt(share[some].mean() / 400)
        assert abs(error[some].mean()) < 4.5 * se + 0.1 * share[some].mean()
    slope = np.polyfit(x[:, 0], error[:400], 1)[0]
    assert abs(slope) < 4.5 * np.sqrt(share[:400].mean() / 400) + 0.1
    assert np.polyfit(x[:, 0], (one.value - right), 1)[0] < -0.15  # as it was


def test_a_variance_that_is_known_is_kept():
    x = np.random.default_rng(0).normal(size=(64, 3))
    looks = Looks(x, np.zeros(64), np.full(64, 0.3), np.ones(64), np.full(64, 640))
    value, sds = looks.levelled(x)
    np.testing.assert_allclose(value, 0.15, rtol=1e-2)
    np.testing.assert_allclose(sds, np.sqrt(0.3), rtol=1e-2)


def test_the_jackknife_finds_a_small_variance_and_is_not_carried_away_by_a_collapse():
    near, level = np.array([0.01, -0.02, 0.05]), np.array([-300.0, 5.0, 0.0])
    np.testing.assert_allclose(variance_of_two(level, level + near), near**2 / 2, rtol=1e-3)
    runs = np.random.default_rng(0).normal(size=(2, 20_000)) * np.sqrt(0.3)
    assert variance_of_two(*runs).mean() == pytest.approx(0.3, rel=0.1)  # of the second order in it
    assert variance_of_two(np.zeros(1), np.array([-40.0]))[0] < 80  # half the square is 800
