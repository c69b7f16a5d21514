"""Compiled calls on many rows, in blocks of one fixed size: one shape to compile for."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree


def by_block(call: Callable[[Any], PyTree], rows: PyTree, size: int) -> PyTree:
    """Call a compiled function on all rows, `size` of them at a time.

    Args:
        call: takes `rows` cut to a leading axis of `size`, returns a pytree with that leading axis.
        rows: a pytree of arrays with one common leading axis n of at least 1. The last row is repeated
            until the last block is full.
        size: rows of one block.

    Returns:
        What `call` returned, as numpy arrays with a leading axis n.
    """
    rows = jax.tree.map(np.asarray, rows)
    n = len(jax.tree.leaves(rows)[0])
    parts = []
    for start in range(0, n, size):
        index = np.minimum(start + np.arange(size), n - 1)
        parts.append(jax.tree.map(np.asarray, call(jax.tree.map(lambda x, i=index: x[i], rows))))
    return jax.tree.map(lambda *pieces: np.concatenate(pieces)[:n], *parts)
