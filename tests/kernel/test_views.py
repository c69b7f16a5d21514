"""What several views of one path of states are worth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsnl.kernel.views import worth_of_views

USE = np.ones((4 * 200, 50), bool)


def views(shared, seed=0, num_views=4, n=200, length=50):
    """Rows of a path's own noise and of each view's own, all of unit size."""
    rng = np.random.default_rng(seed)
    path, own = rng.normal(size=(1, n, length, 1)), rng.normal(size=(num_views, n, length, 1))
    rows = np.sqrt(shared) * path + np.sqrt(1 - shared) * own
    return rows.reshape(-1, length, 1)


def test_one_view_is_worth_itself():
    assert worth_of_views(views(0.5), USE, 1) == 1.0


def test_copies_are_worth_one():
    assert worth_of_views(views(1.0), USE, 4) == pytest.approx(1 / 4, rel=1e-6)


def test_views_that_share_nothing_are_worth_their_number():
    assert worth_of_views(views(0.0), USE, 4) == pytest.approx(1.0, abs=0.05)


@given(st.floats(0.1, 0.9))
def test_the_more_is_shared_the_less_they_are_worth(shared):
    # 30,000 pairs of rows: the correlation has a standard error below 0.01
    assert worth_of_views(views(shared), USE, 4) == pytest.approx(1 / (1 + 3 * shared), rel=0.1)


def test_rows_that_do_not_count_do_not_change_it():
    rows, use = views(0.5), USE.copy()
    use[:, 30:] = False
    wild = rows.copy()
    wild[:, 30:] = 1e9
    assert worth_of_views(wild, use, 4) == worth_of_views(rows, use, 4)
