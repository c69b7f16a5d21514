"""One new row under a kernel: how likely it is at every particle, and the past with it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from tsnl.kernel.fitted import Kernel
from tsnl.kernel.memory import Recent


@eqx.filter_jit
def step(
    kernel: Kernel,
    recent: Recent,
    row: Float[Array | np.ndarray, " d_y"],
    seen: Bool[Array | np.ndarray, " d_y"],
    inputs: Float[Array | np.ndarray, " d_u"],
    z: Float[Array | np.ndarray, "n size"],
) -> tuple[Float[Array, " n"], Float[Array, ""], Recent]:
    """Log-density of a row at every particle, its distance from the region, and the past with it."""
    y, u = (
        kernel.scaling.standardise(jnp.asarray(row)),
        kernel.scaling.standardise_u(jnp.asarray(inputs)),
    )
    one = jax.tree.map(lambda x: x[None], recent.context(u))
    context = jax.tree.map(lambda x: jnp.broadcast_to(x, (len(z), *x.shape[1:])), one)
    log_q = kernel.log_probs(
        jnp.broadcast_to(y, (len(z), len(y))), context, kernel.scaling.standardise_z(jnp.asarray(z))
    )
    log_q += jnp.sum(kernel.scaling.log_jacobian(jnp.asarray(row)))
    return log_q, kernel.region.distance(y[None], one)[0], recent.push(y, jnp.asarray(seen), u)


def recent_of(
    kernel: Kernel, rows: Float[np.ndarray, "T d_y"], inputs: Float[np.ndarray, "T d_u"]
) -> Recent:
    """What a kernel needs of the past after these rows, NaN where missing, in the user's units."""
    dtype, seen = jnp.result_type(float), np.isfinite(rows)
    return _recent(kernel, np.where(seen, rows, 0.0).astype(dtype), seen, inputs.astype(dtype))


@eqx.filter_jit
def _recent(
    kernel: Kernel,
    rows: Float[Array | np.ndarray, "T d_y"],
    seen: Bool[Array | np.ndarray, "T d_y"],
    inputs: Float[Array | np.ndarray, "T d_u"],
) -> Recent:
    y, u = (
        kernel.scaling.standardise(jnp.asarray(rows)),
        kernel.scaling.standardise_u(jnp.asarray(inputs)),
    )
    return Recent.of(y, jnp.asarray(seen), u, kernel.past)
