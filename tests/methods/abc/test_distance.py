import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsnl.methods.abc.distance import Measure, check_distance

RNG = np.random.default_rng(0)
OBSERVED = RNG.normal(size=(6, 2))
BATCH = RNG.normal(size=(5, 6, 2))


def moments(x):
    return np.array([x.mean(), x.std()])


def test_euclidean():
    found = Measure.of("euclidean", None, OBSERVED)(BATCH)
    np.testing.assert_allclose(found, [np.linalg.norm(x - OBSERVED) for x in BATCH])


def test_the_observed_series_is_at_zero():
    for distance in ("euclidean", "standardised"):
        assert Measure.of(distance, None, OBSERVED).fit(BATCH)(OBSERVED[None]) == 0


def test_standardised_by_the_median_absolute_deviation():
    found = Measure.of("standardised", None, OBSERVED).fit(BATCH)(BATCH)
    scale = np.median(np.abs(BATCH - np.median(BATCH, axis=0)), axis=0)
    np.testing.assert_allclose(found, [np.linalg.norm((x - OBSERVED) / scale) for x in BATCH])


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_standardised_distances_have_no_units(a, b):
    units = np.array([a, b])
    one = Measure.of("standardised", None, OBSERVED).fit(BATCH)(BATCH)
    other = Measure.of("standardised", None, OBSERVED * units).fit(BATCH * units)(BATCH * units)
    np.testing.assert_allclose(one, other, rtol=1e-8)


def test_entries_that_rarely_or_never_change():
    batch = np.zeros((5, 6, 2))
    batch[0, 0, 0] = 3.0
    scale = Measure.of("standardised", None, OBSERVED).fit(batch).scale
    np.testing.assert_allclose(scale, [batch[:, 0, 0].std()] + 11 * [1.0])


def test_only_the_standardised_learns():
    measure = Measure.of("euclidean", None, OBSERVED)
    assert measure.fit(BATCH) is measure
    assert (Measure.of("standardised", None, OBSERVED).fit(np.nan * BATCH).scale == 1).all()


@pytest.mark.parametrize("distance", ["euclidean", "standardised"])
def test_summaries(distance):
    found = Measure.of(distance, moments, OBSERVED).fit(BATCH)(BATCH)
    gaps = np.array([moments(x) - moments(OBSERVED) for x in BATCH])
    if distance == "standardised":
        rows = np.array([moments(x) for x in BATCH])
        gaps /= np.median(np.abs(rows - np.median(rows, axis=0)), axis=0)
    np.testing.assert_allclose(found, np.linalg.norm(gaps, axis=1))


def test_a_scalar_summary():
    found = Measure.of("euclidean", np.mean, OBSERVED)(BATCH)
    np.testing.assert_allclose(found, np.abs(BATCH.mean(axis=(1, 2)) - OBSERVED.mean()))


def test_a_function_of_ones_own():
    def worst(x, y):
        return np.abs(x - y).max()

    np.testing.assert_allclose(
        Measure.of(worst, None, OBSERVED)(BATCH), np.abs(BATCH - OBSERVED).max(axis=(1, 2))
    )
    gaps = [np.abs(moments(x) - moments(OBSERVED)).max() for x in BATCH]
    np.testing.assert_allclose(Measure.of(worst, moments, OBSERVED)(BATCH), gaps)


def test_failed_series_are_infinitely_far_and_reach_no_function():
    batch = BATCH.copy()
    batch[1, 3:] = np.nan
    batch[4, 0, 0] = np.inf

    def picky(x, y=None):
        assert np.isfinite(x).all()
        return 1.0

    for measure in (Measure.of(picky, None, OBSERVED), Measure.of("standardised", picky, OBSERVED)):
        assert np.isinf(measure.fit(batch)(batch)).tolist() == [False, True, False, False, True]
    assert np.isinf(Measure.of("euclidean", None, OBSERVED)(np.nan * BATCH)).all()


def test_a_distance_that_is_no_number_is_infinite():
    assert np.isinf(Measure.of(lambda x, y: np.nan, None, OBSERVED)(BATCH)).all()
    broken = Measure.of("standardised", lambda x: np.where(x.max() < 1.5, np.nan, x.sum()), 2 * OBSERVED)
    lost = BATCH.max(axis=(1, 2)) < 1.5
    assert 0 < lost.sum() < 5
    assert np.isinf(broken.fit(BATCH)(BATCH)).tolist() == lost.tolist()


def test_bad_functions():
    with pytest.raises(ValueError, match=r"distance function gave -1.0, expected numbers of at least 0"):
        Measure.of(lambda x, y: -1.0, None, OBSERVED)(BATCH)
    with pytest.raises(ValueError, match="summary_fn gives nan for the observed series"):
        Measure.of("euclidean", lambda x: np.nan, OBSERVED)
    ragged = Measure.of("euclidean", lambda x: np.ones(1 + int(x is not OBSERVED)), OBSERVED)
    with pytest.raises(ValueError, match="2 numbers for a simulated series and 1 for the observed"):
        ragged(BATCH)


def test_bad_options():
    with pytest.raises(ValueError, match=r"distance is 'manhattan', expected one of"):
        check_distance("manhattan", None)
    with pytest.raises(ValueError, match="summary_fn is 'mean', expected a function of a series"):
        check_distance("euclidean", "mean")
