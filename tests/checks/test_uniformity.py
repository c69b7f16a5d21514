from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from tsnl.checks.uniformity import count_ecdf, ecdf_band, histogram_band, rank_ecdf


def every_sample(num_trials, num_draws):
    return [np.array(r) for r in product(range(num_draws + 1), repeat=num_trials)]


def points(num_draws):
    return tuple(((1 + np.arange(num_draws)) / (num_draws + 1)).tolist())


def within(hits, num_trials, rate):
    """Whether a binomial count is one that happens, at one in 100 000 on either side."""
    low, high = binom.ppf([1e-5, 1 - 1e-5], num_trials, rate)
    return low <= hits <= high


@pytest.mark.parametrize(("num_trials", "num_draws"), [(5, 3), (3, 5), (8, 1), (1, 7)])
def test_p_values_are_exact(num_trials, num_draws):
    """Of all samples, equally likely, the share with a p-value up to p is p, at every p there is."""
    found = np.array([rank_ecdf(r, num_draws).p_value for r in every_sample(num_trials, num_draws)])
    for p in np.unique(found.round(9)):
        np.testing.assert_allclose(np.mean(found <= p + 1e-8), p, atol=1e-8)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_bands_are_the_narrowest_that_hold(level):
    """All samples counted: the band holds its level, and no p-value lies between level and band."""
    samples = every_sample(4, 3)
    tests = [rank_ecdf(r, 3, level) for r in samples]
    assert np.mean([test.inside for test in tests]) >= level
    outside = [test.p_value for test in tests if not test.inside]
    assert all(test.p_value > 1 - level - 1e-9 for test in tests if test.inside)
    assert all(p <= 1 - level + 1e-9 for p in outside)


@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.integers(1, 300), st.floats(0.2, 3.0))
def test_a_share_leaves_the_band_where_the_p_value_is_small(seed, num_trials, num_draws, power):
    ranks = np.random.default_rng(seed).random(num_trials) ** power * (num_draws + 1)
    test = rank_ecdf(ranks.astype(int), num_draws, 0.9)
    assert test.inside == (test.p_value > 0.1)
    assert 0 < test.p_value <= 1
    assert (np.diff(test.low) >= 0).all()
    assert (np.diff(test.high) >= 0).all()


@given(st.integers(0, 2**32 - 1), st.integers(2, 60))
def test_turning_ranks_round_changes_no_p_value(seed, num_draws):
    ranks = np.random.default_rng(seed).integers(0, num_draws + 1, 50)
    found = rank_ecdf(ranks, num_draws).p_value
    np.testing.assert_allclose(rank_ecdf(num_draws - ranks, num_draws).p_value, found, rtol=1e-6)


@pytest.mark.parametrize(("num_trials", "num_draws", "level"), [(100, 99, 0.95), (300, 19, 0.8)])
def test_the_band_covers_uniform_ranks_at_its_rate(num_trials, num_draws, level):
    rng = np.random.default_rng(0)
    samples = rng.integers(0, num_draws + 1, (4000, num_trials))
    counts = np.array([np.searchsorted(np.sort(r), np.arange(num_draws), "right") for r in samples])
    low, high = ecdf_band(num_trials, points(num_draws), level)
    hits = int(((counts >= low) & (counts <= high)).all(axis=1).sum())
    # a band of whole counts holds a level, or a little more
    assert binom.ppf(1e-5, 4000, level) <= hits <= binom.ppf(1 - 1e-5, 4000, level + 0.01)


def test_p_values_of_uniform_ranks_are_uniform():
    rng = np.random.default_rng(1)
    found = [rank_ecdf(rng.integers(0, 20, 200), 19).p_value for _ in range(250)]
    for p in (0.05, 0.2, 0.5, 0.8):
        assert within(int(np.sum(np.array(found) <= p)), 250, p)


@pytest.mark.parametrize(
    ("name", "ranks"),
    [
        ("biased", lambda rng: rng.beta(1.5, 1.0, 200)),
        ("too narrow", lambda rng: rng.beta(0.6, 0.6, 200)),
        ("too wide", lambda rng: rng.beta(2.2, 2.2, 200)),
        ("two humps", lambda rng: np.abs(rng.beta(1.8, 1.8, 200) - 0.5)),
    ],
)
def test_wrong_ranks_are_found(name, ranks):
    test = rank_ecdf((100 * ranks(np.random.default_rng(2))).astype(int), 99)
    assert test.p_value < 1e-3, name
    assert not test.inside


def test_hopeless_ranks_have_a_tiny_p_value():
    assert 0 < rank_ecdf(np.zeros(100, int), 99).p_value < 1e-100


def test_the_band_is_wider_than_that_of_one_point():
    z = points(99)
    low, high = ecdf_band(200, z)
    one_low, one_high = binom.ppf([0.025, 0.975], 200, np.array(z)[:, None]).T
    assert (low <= one_low).all()
    assert (high >= one_high).all()
    assert (high - low)[49] > 1.3 * (one_high - one_low)[49]


def test_many_draws_are_tested_at_a_hundred_points():
    test = rank_ecdf(np.random.default_rng(3).integers(0, 4001, 50), 4000)
    assert len(test.points) == 100
    assert len(rank_ecdf(np.zeros(50, int), 7).points) == 7


@pytest.mark.parametrize(("num_trials", "num_bins"), [(6, 4), (8, 3), (3, 5)])
def test_histogram_band_by_counting_everything(num_trials, num_bins):
    samples = every_sample(num_trials, num_bins - 1)
    counts = np.array([np.bincount(r, minlength=num_bins) for r in samples])
    for level in (0.5, 0.9):
        low, high = histogram_band(num_trials, num_bins, level)
        held = np.mean(((counts >= low) & (counts <= high)).all(axis=1))
        assert held >= level - 1e-12


def test_histogram_band_covers_at_its_rate():
    counts = np.random.default_rng(4).multinomial(1000, np.full(20, 1 / 20), 20_000)
    low, high = histogram_band(1000, 20)
    held = np.mean(((counts >= low) & (counts <= high)).all(axis=1))
    assert held > 0.95 - 4 * np.sqrt(0.05 * 0.95 / 20_000)
    narrower = np.mean(((counts > low) & (counts < high)).all(axis=1))
    assert narrower < 0.95


def test_what_cannot_be_tested():
    with pytest.raises(ValueError, match=r"level is 1\.5, expected a probability"):
        rank_ecdf(np.zeros(5, int), 9, 1.5)
    with pytest.raises(ValueError, match="0 trials and 9 steps"):
        rank_ecdf(np.zeros(0, int), 9)
    with pytest.raises(ValueError, match="5 trials and 0 steps"):
        count_ecdf(np.zeros(5, int), np.zeros(0, int), np.zeros(0))
