import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tsnl.runtime.blocks import by_block


@pytest.mark.parametrize("n", [1, 7, 8, 19])
def test_one_shape_for_any_number_of_rows(n):
    shapes = set()

    def call(rows):
        shapes.add(rows["x"].shape)
        return {"twice": 2 * jnp.asarray(rows["x"]), "index": rows["i"]}

    x = np.random.default_rng(0).normal(size=(n, 3)).astype(np.float32)
    found = by_block(call, {"x": x, "i": np.arange(n)}, 8)
    np.testing.assert_array_equal(found["twice"], 2 * x)
    np.testing.assert_array_equal(found["index"], np.arange(n))
    assert shapes == {(8, 3)}
    assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(found))


def test_the_last_row_fills_the_last_block():
    seen = []
    by_block(lambda rows: seen.append(rows) or rows, jnp.arange(5), 4)
    np.testing.assert_array_equal(seen, [[0, 1, 2, 3], [4, 4, 4, 4]])
