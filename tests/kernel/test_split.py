import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tsnl.kernel.split import split


@given(
    n=st.integers(2, 30),
    num_members=st.integers(1, 6),
    fraction=st.floats(0.01, 0.5),
    seed=st.integers(0, 99),
)
def test_whole_series_are_held_out(n, num_members, fraction, seed):
    rng = np.random.default_rng(seed)
    targets = rng.uniform(size=(n, 4)) < 0.7
    targets[:2, 0] = True  # at least two series are there
    train, held = split(rng, targets, num_members, fraction, lag=2)
    assert not (train & held).any()
    np.testing.assert_array_equal(train | held, np.repeat(targets[None], num_members, 0))
    assert not (held.any(2) & train.any(2)).any()
    live = int(targets.any(1).sum())
    count = held.any(2).sum(1)
    assert (count == max(1, round(fraction * live))).all()
    if num_members * count[0] <= live:  # there are enough for each to have its own
        assert held.any(2).sum(0).max() == 1


def test_together_the_members_learn_from_all():
    train, _ = split(np.random.default_rng(0), np.ones((10, 3), bool), 2, 0.3, lag=1)
    assert train.any(0).all()


@given(length=st.integers(10, 40), lag=st.integers(1, 3), fraction=st.floats(0.1, 0.4))
def test_a_single_series_loses_its_last_block_and_a_gap(length, lag, fraction):
    targets = np.zeros((3, length), bool)
    targets[1] = True
    train, held = split(np.random.default_rng(0), targets, 2, fraction, lag)
    first = int(length * (1 - fraction))
    for member in range(2):
        np.testing.assert_array_equal(held[member, 1], np.arange(length) >= first)
        np.testing.assert_array_equal(train[member, 1], np.arange(length) < first - lag)
    assert not train[:, [0, 2]].any()
    assert not held[:, [0, 2]].any()


def test_nothing_to_hold_out():
    targets = np.random.default_rng(0).uniform(size=(4, 5)) < 0.5
    train, held = split(np.random.default_rng(0), targets, 3, 0.0, lag=1)
    np.testing.assert_array_equal(train, np.repeat(targets[None], 3, 0))
    np.testing.assert_array_equal(held, train)


@given(
    n=st.integers(1, 3), length=st.integers(2, 6), lag=st.integers(1, 9), fraction=st.floats(0.01, 0.5)
)
def test_there_is_always_something_to_learn_from(n, length, lag, fraction):
    train, held = split(np.random.default_rng(0), np.ones((n, length), bool), 3, fraction, lag)
    assert train.any((1, 2)).all()
    assert held.any((1, 2)).all()
    assert not (train & held).any()


@given(n=st.integers(2, 20), num_views=st.integers(2, 5), seed=st.integers(0, 99))
def test_views_of_a_path_stay_together(n, num_views, seed):
    targets = np.ones((num_views * n, 3), bool)
    train, held = split(np.random.default_rng(seed), targets, 3, 0.2, 1, num_views)
    for rows in (train, held):
        by_view = rows.any(axis=2).reshape(3, num_views, n)
        assert (by_view == by_view[:, :1]).all()
    assert not (train & held).any()
    np.testing.assert_array_equal(train | held, np.repeat(targets[None], 3, 0))
