import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from tsnl.evaluate.metrics import crps, energy_score, inside


def normal_crps(mean, sd, y):
    """The closed form of Gneiting and Raftery (2007)."""
    z = (y - mean) / sd
    return sd * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))


@given(st.floats(-2, 2), st.floats(0.1, 5), st.floats(-3, 3), st.integers(0, 100))
def test_crps_of_a_normal(mean, sd, z, seed):
    y = mean + sd * z
    draws = np.random.default_rng(seed).normal(mean, sd, size=(4000, 1))
    # |X - y| has a standard deviation below sd, the second term's error is smaller still
    assert abs(crps(draws, np.array([y]))[0] - normal_crps(mean, sd, y)) < 6 * sd / np.sqrt(4000)


def test_crps_is_fair_with_few_draws():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(3, 200_000))
    found = crps(draws, np.full(200_000, 0.7))
    assert abs(found.mean() - normal_crps(0, 1, 0.7)) < 4.5 * found.std() / np.sqrt(found.size)


@given(st.integers(2, 20), st.integers(0, 1000))
def test_crps_from_sorted_draws_is_that_of_all_pairs(n, seed):
    rng = np.random.default_rng(seed)
    draws, truth = rng.normal(size=(n, 3, 2)), rng.normal(size=(3, 2))
    pairs = np.abs(draws[:, None] - draws[None]).sum(axis=(0, 1)) / (n * (n - 1))
    naive = np.abs(draws - truth).mean(axis=0) - 0.5 * pairs
    np.testing.assert_allclose(crps(draws, truth), naive, atol=1e-12)


@given(st.floats(0.1, 10), st.floats(-5, 5), st.integers(0, 1000))
def test_scores_have_the_units_of_y(scale, shift, seed):
    rng = np.random.default_rng(seed)
    draws, truth = rng.normal(size=(10, 4, 2)), rng.normal(size=(4, 2))
    for score in (crps, energy_score):
        moved = score(scale * draws + shift, scale * truth + shift)
        np.testing.assert_allclose(moved, scale * score(draws, truth), rtol=1e-6, atol=1e-9)


def test_in_one_dimension_the_energy_score_is_the_crps():
    rng = np.random.default_rng(0)
    draws, truth = rng.normal(size=(30, 5, 1)), rng.normal(size=(5, 1))
    np.testing.assert_allclose(energy_score(draws, truth), crps(draws, truth)[:, 0], rtol=1e-10)


@pytest.mark.parametrize("wrong", [{"loc": 0.5}, {"scale": 2.0}, {"scale": 0.5}])
def test_the_right_law_scores_best(wrong):
    rng = np.random.default_rng(1)
    truth = rng.normal(size=5000)
    right = crps(rng.normal(size=(200, 5000)), truth).mean()
    assert right < crps(rng.normal(**wrong, size=(200, 5000)), truth).mean() - 0.02


def test_bands_cover_at_their_level():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=4000)
    for level in (0.5, 0.9):
        share = inside(rng.normal(size=(400, 4000)), truth, level).mean()
        assert abs(share - level) < 4.5 * np.sqrt(level * (1 - level) / 4000) + 1 / 400


def test_missing_truth_has_no_score():
    draws = np.random.default_rng(0).normal(size=(10, 2, 2))
    truth = np.array([[np.nan, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(np.isnan(crps(draws, truth)), np.isnan(truth))
    np.testing.assert_array_equal(np.isnan(energy_score(draws, truth)), [True, False])
    assert not inside(draws, truth)[0, 0]


def test_errors():
    with pytest.raises(ValueError, match="a score needs at least 2"):
        crps(np.zeros((1, 3)), np.zeros(3))
    with pytest.raises(ValueError, match=r"level is 1.5"):
        inside(np.zeros((2, 3)), np.zeros(3), 1.5)
