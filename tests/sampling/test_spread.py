from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tsnl.sampling.spread import spread


@given(m=st.integers(1, 60), n=st.integers(1, 80), size=st.integers(1, 3), seed=st.integers(0, 99))
def test_points_of_the_cloud_as_evenly_as_can_be(m, n, size, seed):
    points = np.random.default_rng(seed).normal(size=(m, size))
    found = spread(np.random.default_rng(seed), points, n)
    picked = Counter(tuple(p) for p in found)
    assert len(found) == n
    assert set(picked) <= {tuple(p) for p in points}
    assert len(picked) == min(n, m)
    assert max(picked.values()) <= -(-n // m)


@given(n=st.integers(1, 40), factor=st.integers(1, 10), seed=st.integers(0, 99))
def test_one_from_each_stratum_of_a_line(n, factor, seed):
    points = np.random.default_rng(seed).permutation(n * factor).astype(float)[:, None]
    found = spread(np.random.default_rng(seed), points, n)[:, 0]
    np.testing.assert_array_equal(np.sort(found // factor), np.arange(n))


def test_equal_points_and_flat_coordinates():
    found = spread(np.random.default_rng(0), np.zeros((30, 2)), 7)
    np.testing.assert_array_equal(found, np.zeros((7, 2)))
    points = np.stack([np.arange(30.0), np.ones(30)], axis=1)
    assert len(np.unique(spread(np.random.default_rng(0), points, 10)[:, 0] // 3)) == 10


def test_every_point_is_as_likely():
    points, rng = np.arange(12.0)[:, None], np.random.default_rng(0)
    picks = np.concatenate([spread(rng, points, 3)[:, 0] for _ in range(4000)]).astype(int)
    share = np.bincount(picks, minlength=12) / 4000
    assert (abs(share - 0.25) < 4.5 * np.sqrt(0.25 * 0.75 / 4000)).all()


def test_closer_to_the_mean_than_a_subsample():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(1000, 2)) * [1.0, 5.0]
    scale, centre = points.std(0), points.mean(0)

    def error(pick):
        return np.mean([np.sum(((pick().mean(0) - centre) / scale) ** 2) for _ in range(200)])

    plain = error(lambda: points[rng.choice(1000, 20, replace=False)])
    assert error(lambda: spread(rng, points, 20)) < 0.4 * plain


def test_reproducible():
    points = np.random.default_rng(0).normal(size=(50, 2))
    a, b = (spread(np.random.default_rng(3), points, 9) for _ in range(2))
    np.testing.assert_array_equal(a, b)
