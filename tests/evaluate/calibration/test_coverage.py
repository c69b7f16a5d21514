import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsnl.evaluate.calibration import Trials, central_coverage, density_coverage, tarp, tarp_ranks


def gaussian(num_trials, *, size=3, num_draws=99, width=1.0, shift=0.0, seed=0):
    """Truth m ~ N(0, I), one y ~ N(m, I): posterior N(y / 2, I / 2), or wrong by width and shift."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(num_trials, size))
    mean = (truth + rng.normal(size=truth.shape)) / 2
    mean[:, 0] += shift * np.sqrt(0.5)
    draws = mean[:, None] + width * np.sqrt(0.5) * rng.normal(size=(num_trials, num_draws, size))
    depth = np.linalg.norm(draws - mean[:, None], axis=-1), np.linalg.norm(truth - mean, axis=-1)
    return Trials(
        labels=tuple(f"m[{i}]" for i in range(size)),
        numbers=np.arange(num_trials),
        truth=truth,
        draws=draws,
        references=rng.normal(size=truth.shape),
        scale=np.ones(size),
        density_ranks=np.sum(depth[0] > depth[1][:, None], axis=1),
        ess=np.full(num_trials, float(num_draws)),
        dropped=(),
    )


def central(trials):
    return central_coverage(trials.ranks()["m[0]"], trials.num_draws)


@pytest.mark.parametrize("test", [tarp, density_coverage, central])
def test_right_posteriors_are_held_to_be_wrong_at_the_nominal_rate(test):
    """Of 200 studies of 60 trials at most as many are rejected at 5 % as happens by chance."""
    found = [test(gaussian(60, num_draws=19, seed=seed)).p_value for seed in range(200)]
    assert np.sum(np.array(found) <= 0.05) <= 10 + 4 * np.sqrt(200 * 0.05 * 0.95)
    assert np.sum(np.array(found) <= 0.5) >= 100 - 4 * np.sqrt(200 * 0.5 * 0.5) - 10


@pytest.mark.parametrize("test", [tarp, density_coverage, central])
@pytest.mark.parametrize(("width", "sign"), [(0.6, -1), (1.7, 1)])
def test_confidence_is_judged(test, width, sign):
    """Too narrow: regions hold the truth less often than they say; too wide: more often."""
    found = test(gaussian(400, width=width))
    assert found.p_value < 1e-3
    if test is not tarp:  # the balls of tarp tell the direction by shape, not by sign
        assert sign * (found.share - found.points)[len(found.points) // 2] > 0.05


def test_tarp_shows_the_direction_by_its_shape():
    """Too narrow: the truth is often nearer to a point than nearly all draws, and often farther."""
    error = 4 * np.sqrt(0.05 * 0.95 / 2000)
    narrow, wide = (tarp(gaussian(2000, width=width, size=1)) for width in (0.5, 2.0))
    assert narrow.share[4] > 0.05 + error
    assert narrow.share[94] < 0.95 - error
    assert wide.share[94] > 0.95 + error


def test_balls_around_far_points_are_half_lines():
    trials = gaussian(50, size=1)
    found = tarp_ranks(trials, np.full((50, 1), 1e3))
    np.testing.assert_array_equal(found, 99 - trials.ranks()["m[0]"])


@pytest.mark.parametrize("test", [tarp, density_coverage, central])
def test_a_shift_is_found(test):
    assert test(gaussian(1000, shift=1.0, size=1)).p_value < 1e-3


def test_a_right_coverage_is_the_nominal_one():
    found = density_coverage(gaussian(5000))
    error = np.sqrt(found.points * (1 - found.points) / 5000)
    assert (np.abs(found.share - found.points) < 5 * error).all()


def test_tarp_takes_any_points_that_do_not_know_the_truth():
    trials = gaussian(300)
    near = trials.draws.mean(axis=1) + 0.3
    assert tarp(trials, references=near).p_value > 1e-3
    assert tarp(trials, references=trials.truth + 1e-3).p_value < 1e-10
    with pytest.raises(ValueError, match=r"references has shape \(300, 2\), expected \(300, 3\)"):
        tarp_ranks(trials, near[:, :2])


@given(st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3))
def test_tarp_has_the_units_of_the_scale(seed, unit):
    trials = gaussian(20, num_draws=9, seed=seed)
    parts = {name: getattr(trials, name) * unit for name in ("truth", "draws", "references", "scale")}
    scaled = Trials(**{**vars(trials), **parts})
    np.testing.assert_array_equal(tarp_ranks(scaled), tarp_ranks(trials))


@pytest.mark.parametrize("num_draws", [2, 3, 9, 10])
def test_central_intervals_by_counting(num_draws):
    """Ranks that are each there once are covered at exactly the nominal levels."""
    found = central_coverage(np.arange(num_draws + 1), num_draws)
    np.testing.assert_allclose(found.share, found.points)
    assert found.points[0] == (1 + num_draws % 2) / (num_draws + 1)


def test_draws_alone_have_no_density():
    trials = Trials(**{**vars(gaussian(5)), "density_ranks": None})
    with pytest.raises(ValueError, match="These trials have draws alone, no density: use tarp"):
        density_coverage(trials)
