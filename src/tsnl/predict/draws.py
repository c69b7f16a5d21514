"""A law drawn once at each of many draws of theta."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key, PyTree

from tsnl.runtime.blocks import by_block

CHUNK = 50  # draws made by one compiled call; a shorter batch is filled up


def each_draw(
    key: Key[Array, ""], law: Callable[..., PyTree], theta: Mapping[str, np.ndarray], chunk: int = CHUNK
) -> PyTree:
    """Call `law(key, theta)` for each draw; number i has `fold_in(key, i)`.

    Args:
        key: a JAX random key.
        law: an `eqx.Module`, so that equal ones are compiled once.
        theta: name to array (n, *event).
        chunk: draws made at once: bounds the memory.

    Returns:
        What it returned, as numpy arrays with a leading axis n.
    """
    rows = {name: np.asarray(x, jnp.result_type(float)) for name, x in theta.items()}
    n = len(next(iter(rows.values())))
    return by_block(lambda part: _chunk(key, law, *part), (rows, np.arange(n)), chunk)


@eqx.filter_jit
def _chunk(
    key: Key[Array, ""],
    law: Callable[..., PyTree],
    theta: dict[str, Array],
    index: Int[Array | np.ndarray, " n"],
) -> PyTree:
    return jax.vmap(lambda i, row: law(jax.random.fold_in(key, i), row))(jnp.asarray(index), theta)


def without_failed(values: Any, alive: Bool[np.ndarray, " draw"], what: str, remedy: str) -> Any:
    """The draws that are alive, with a warning about the rest.

    Raises:
        ValueError: none is.
    """
    failed = int(np.sum(~alive))
    message = f"{failed} of {len(alive)} {what}: {remedy}"
    if failed == len(alive):
        raise ValueError(message)
    if failed:
        warnings.warn(f"{message} They are left out.", stacklevel=4)
    return values[alive]
