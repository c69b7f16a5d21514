"""Shorthand for arrays of model parameters: a number, a diagonal, or the matrix itself."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, ArrayLike, Float

Parameter: TypeAlias = Any  # an array, once the converter has seen it


def parameter(default: Any) -> Any:
    """A model field that may be inferred, kept in 64 bit until it is used."""
    return eqx.field(default_factory=lambda: _array(default), converter=_array)


def _array(value: Any) -> Any:
    return value if isinstance(value, jax.Array) else np.asarray(value, dtype=np.float64)


def real(value: ArrayLike) -> Array:
    """The value in the precision at hand.

    The copy matters: JAX may remember a numpy array in the precision that it first saw it in.
    """
    return jnp.asarray(np.array(value) if isinstance(value, np.ndarray) else value, dtype=float)


def real_values(theta: Mapping[str, ArrayLike]) -> dict[str, Array]:
    """Each value as an array: a number would be a constant of a compiled program, not an argument."""
    return {name: real(value) for name, value in theta.items()}


def matrix(value: ArrayLike, size: int) -> Float[Array, "rows columns"]:
    """A scalar times the identity, a vector's diagonal, or the matrix itself."""
    value = real(value)
    if value.ndim == 2:
        return value
    return jnp.diag(jnp.broadcast_to(value, (size,)))


def vector(value: ArrayLike, size: int) -> Float[Array, " size"]:
    """A vector, a scalar standing for equal entries."""
    return jnp.broadcast_to(real(value), (size,))


def factor(covariance: ArrayLike) -> Array:
    """S with S S^T = covariance in the same shorthand, lower triangular where it is a matrix.

    Zeros are fine in a scalar or a diagonal.
    """
    covariance = real(covariance)
    return jnp.linalg.cholesky(covariance) if covariance.ndim == 2 else jnp.sqrt(covariance)


def apply(value: ArrayLike, x: Float[Array, " columns"]) -> Float[Array, " rows"]:
    """The product with a vector, elementwise where the matrix is a scalar or a diagonal."""
    value = real(value)
    return value @ x if value.ndim == 2 else value * x


def log_normal(residual: Float[Array, " size"], scale: ArrayLike) -> Float[Array, ""]:
    r"""The log-density of N(0, S S^T) at a residual, S as `factor` gives it."""
    scale = jnp.asarray(scale)
    if scale.ndim == 2:
        white = solve_triangular(scale, residual, lower=True)
        scale = jnp.diag(scale)
    else:
        white = residual / scale
    log_det = jnp.sum(jnp.log(vector(scale, residual.size)))
    return -0.5 * jnp.sum(white**2) - log_det - 0.5 * residual.size * jnp.log(2 * jnp.pi)


def common_size(what: str, sizes: dict[str, tuple[int, ...]]) -> int:
    """The one size that all named shapes agree on, 1 where all are scalars.

    Raises:
        ValueError: the shapes contradict each other.
    """
    found = {axis for shape in sizes.values() for axis in shape}
    if len(found) > 1:
        given = {name: shape for name, shape in sizes.items() if shape}
        raise ValueError(f"The shapes {given} disagree on the {what}: give each the same size.")
    return found.pop() if found else 1


def check_covariance(name: str, value: Any) -> None:
    """Raise ValueError where a known value is no covariance."""
    if isinstance(value, jax.Array):
        return
    if value.ndim > 2:
        raise ValueError(f"{name} has shape {value.shape}: expected a number, a diagonal or a matrix.")
    if value.ndim < 2:
        if not np.all(value >= 0):
            raise ValueError(f"{name} = {value.tolist()} is negative or NaN: variances are >= 0.")
        return
    if not np.allclose(value, value.T):
        raise ValueError(f"{name} = {value.tolist()} is not symmetric: a covariance must be.")
    if np.linalg.eigvalsh(value).min() <= 0:
        raise ValueError(
            f"{name} = {value.tolist()} is not positive definite. For a component without noise, give "
            f"the diagonal as a vector with a zero."
        )
