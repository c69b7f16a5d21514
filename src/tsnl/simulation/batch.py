"""The one way from a batch of theta to a batch of series."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from tsnl.models.base import StateSpaceModel, trajectory

# Series simulated by one compiled call; a shorter batch is filled up. One size for all, because the
# last bit of a float may depend on how a compiler vectorises a loop, and so on its length.
CHUNK = 64
IN_FLIGHT = 4  # chunks that may be computed side by side


@dataclass(frozen=True)
class Simulations:
    """Simulated series with the parameters they came from.

    Attributes:
        theta: name to array (n, *event).
        series: (n, T, d_y); a failed series is NaN from the step where it failed.
        cost: calls of the dynamics p(x_t | x_{t-1}), T for each series.
    """

    theta: dict[str, np.ndarray]
    series: Float[np.ndarray, "n T d_y"]
    cost: int

    @property
    def num_failed(self) -> int:
        """How many series did not reach their end."""
        return int(np.sum(~np.isfinite(self.series).all(axis=(1, 2))))


def simulate(
    key: Key[Array, ""],
    model: StateSpaceModel,
    theta: Mapping[str, Any],
    length: int,
    *,
    inputs: Any = None,
    first: int = 0,
) -> Simulations:
    """Simulate one series for each row of theta.

    Simulation i draws with `fold_in(key, first + i)`: its values depend neither on the size of the
    batch nor on which call made it.

    Args:
        key: the key of the whole run.
        model: the laws.
        theta: name to array (n, *event), the parameters that replace the model's own.
        length: T.
        inputs: known inputs (T,) or (T, d_u) common to all series, or (n, T, d_u), of each its own.
        first: number of the first simulation of this batch.
    """
    if not theta:
        raise ValueError("theta is empty: give at least one parameter with a leading batch axis.")
    arrays = {name: np.asarray(value) for name, value in theta.items()}
    counts = {name: value.shape[:1] for name, value in arrays.items()}
    if () in counts.values() or len(set(counts.values())) != 1:
        raise ValueError(f"theta has the leading axes {counts}: expected one common batch axis.")
    (n,) = next(iter(counts.values()))
    if n < 1 or length < 1:
        raise ValueError(f"{n} simulations of length {length}: both must be at least 1.")
    rows_u = None if inputs is None else np.asarray(inputs)
    if rows_u is not None and rows_u.ndim < 3:
        rows_u = np.broadcast_to(rows_u, (n, *rows_u.shape))
    parts: list[Any] = []
    for start in range(0, n, CHUNK):
        rows = np.minimum(start + np.arange(CHUNK), n - 1)
        part = {name: value[rows] for name, value in arrays.items()}
        u = None if rows_u is None else jnp.asarray(rows_u[rows], dtype=float)
        parts.append(_chunk(key, model, part, first + rows, length, u))
        if len(parts) > IN_FLIGHT:  # several chunks run side by side, few enough to bound the memory
            parts[-IN_FLIGHT - 1] = np.asarray(parts[-IN_FLIGHT - 1])
    return Simulations(arrays, np.concatenate(parts)[:n], n * length)


@eqx.filter_jit
def _chunk(
    key: Key[Array, ""],
    model: StateSpaceModel,
    theta: dict[str, Array],
    index: Int[Array, " n"],
    length: int,
    inputs: Float[Array, "n T ..."] | None,
) -> Float[Array, "n T d_y"]:
    def one(i: Array, row: dict[str, Array], u: Any) -> Array:
        return trajectory(jax.random.fold_in(key, i), model, row, length, u)[1]

    return jax.vmap(one)(index, jax.tree.map(jnp.asarray, theta), inputs)
