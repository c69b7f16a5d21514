import pytest

from tsnl.methods.sequential.filtering import num_points


@pytest.mark.parametrize(("size", "points"), [(1, 64), (3, 64), (4, 64), (8, 192), (20, 192)])
def test_more_parameters_take_more_filter_runs(size, points):
    assert num_points(size) == points
