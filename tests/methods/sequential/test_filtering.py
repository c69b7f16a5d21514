import pytest

from tsnl.methods.sequential.filtering import num_points


@pytest.mark.parametrize(("size", "points"), [(1, 64), (3, 64), (4, 64), (8, 192), (20, 192)])
def test_more_parameters_take_more_filter_runs(size, points):
    assert num_points(size) == points


def test_more_simulations_are_worth_more_filter_runs():
    assert [num_points(3, growth) for growth in (1.0, 2.0, 4.0)] == [64, 96, 160]
    assert num_points(8, 4.0) == 384
