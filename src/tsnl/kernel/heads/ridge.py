"""Where the regressions of a mixture density start: ridge regression with a theta-dependent variance."""

from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Float

from tsnl.kernel.heads.base import Groups, Rows
from tsnl.kernel.heads.regression import bases
from tsnl.kernel.heads.weight_prior import feature_sd, slope_sd

PSEUDO = 2.0  # rows of pooled variance behind each series' own
JITTER = 3e-6  # added to a unit diagonal: features of the past are close to collinear


def ridge_start(rows: Rows, groups: Groups) -> tuple[Float[Array, "P1 F"], Float[Array, "P2 2"]]:
    """Of rows of one component of y, the weights of the mean and the offsets of mean and log-scale.

    Two sweeps of generalised ridge regression on (1, theta) x features: the residual variance of each
    series gives the variance as a function of theta, and that weighs the rows of the next sweep.
    """
    y, c, theta, series, share = rows
    num_rows, num_series = len(y), len(theta)
    linear, quadratic = jax.vmap(bases)(theta)
    design = jnp.concatenate(
        [(linear[series][:, :, None] * c[:, None, :]).reshape(num_rows, -1), quadratic[series]], axis=1
    )
    mean_sd, _ = feature_sd(groups)
    weight_sd, quadratic_sd = slope_sd(theta.shape[1])
    linear_sd = weight_sd[: linear.shape[1]]
    precision = jnp.concatenate([(1 / (linear_sd * mean_sd) ** 2).ravel(), 1 / quadratic_sd[:, 0] ** 2])
    weight = jax.ops.segment_sum(jnp.ones(num_rows), series, num_series)

    def sweep(_: Any, before: tuple[Array, Array]) -> tuple[Array, Array]:
        log_sd = before[1]
        inverse = share * jnp.exp(-2 * jnp.clip(quadratic @ log_sd, -6, 3))[series][:, None]
        gram = (design * inverse).T @ design + jnp.diag(precision)
        solution = _solve(gram, (design * inverse).T @ y)
        square = jax.ops.segment_sum((y - design @ solution) ** 2, series, num_series)
        pooled = jnp.sum(square) / num_rows
        logs = 0.5 * jnp.log((square + PSEUDO * pooled) / (weight + PSEUDO) + 1e-8)
        ridge = jnp.diag(1 / quadratic_sd[:, 0] ** 2)
        weighted = quadratic * weight[:, None] * share
        return solution, _solve(weighted.T @ quadratic + ridge, weighted.T @ logs)

    begin = jnp.zeros(design.shape[1]), jnp.zeros(quadratic.shape[1]).at[0].set(-0.35)
    solution, log_sd = jax.lax.fori_loop(0, 2, sweep, begin)
    mean = solution[: linear.shape[1] * c.shape[1]].reshape(linear.shape[1], c.shape[1])
    return mean, jnp.stack([solution[mean.size :], log_sd], axis=1)


def _solve(gram: Float[Array, "p p"], right: Float[Array, " p"]) -> Float[Array, " p"]:
    """By Cholesky on a scale where the diagonal is one; nothing where even that fails in 32 bit."""
    scale = 1 / jnp.sqrt(jnp.diag(gram))
    even = gram * scale[:, None] * scale + JITTER * jnp.eye(len(gram))
    solution = scale * cho_solve((jnp.linalg.cholesky(even), True), scale * right)
    return jnp.where(jnp.all(jnp.isfinite(solution)), solution, 0.0)
