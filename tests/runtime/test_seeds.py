import jax
import numpy as np
import pytest

from tsnl.runtime.checked import check_seed
from tsnl.runtime.seeds import key_of


def test_no_two_seeds_are_alike():
    seeds = [0, 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**33, 2**64 - 1, 2**64, 2**64 + 1, 2**128]
    found = {tuple(jax.random.key_data(key_of(seed)).tolist()) for seed in seeds}
    assert len(found) == len(seeds)


def test_small_seeds_are_those_of_jax():
    for seed in (0, 7, 2**32 - 1):
        np.testing.assert_array_equal(
            jax.random.key_data(key_of(seed)), jax.random.key_data(jax.random.key(seed))
        )
    with jax.enable_x64(True):
        wide = jax.random.key_data(jax.random.key(2**40 + 5))
    np.testing.assert_array_equal(jax.random.key_data(key_of(np.int64(2**40 + 5))), wide)


@pytest.mark.parametrize(
    ("seed", "error"),
    [(-1, ValueError), (1.5, TypeError), ("1", TypeError), (True, TypeError), (None, TypeError)],
)
def test_what_is_no_seed(seed, error):
    with pytest.raises(error, match=f"seed is {seed!r}, expected a non-negative integer"):
        check_seed(seed)
