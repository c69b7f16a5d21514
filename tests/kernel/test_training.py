import pytest

from tsnl.kernel.training import Training, num_looks, rows_in_step


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_members": 0}, "num_members is 0, expected at least 1"),
        ({"min_steps": 0}, "min_steps is 0"),
        ({"min_steps": 9, "max_steps": 8}, "min_steps is 9 and max_steps 8"),
        ({"batch_size": -1}, "batch_size is -1"),
        ({"patience": 0}, "patience is 0"),
        ({"held_out": 1.0}, "held_out is 1.0"),
        ({"held_out": -0.1}, "held_out is -0.1"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0"),
        ({"learning_rate": float("nan")}, "learning_rate is nan"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        Training(**options)


def test_steps_and_their_rows_grow_with_the_data_within_limits():
    options = Training(num_epochs=10.0, min_steps=100, max_steps=1000, batch_size=100, check_every=50)
    looks = [num_looks(rows, 1.0, options) for rows in (10, 5_000, 10_000_000)]
    assert looks == [2, 10, 20]
    assert num_looks(10, 0.01, options) == 1  # half of the fewest steps
    sizes = [rows_in_step(rows, options) for rows in (10, 64_000, 10_000_000)]
    assert sizes == [100, 1000, 2048]
