"""Where the regressions of a mixture density start: ridge regression with a theta-dependent variance."""

from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Bool, Float, Int

from tsnl.kernel.heads.base import Groups, Rows
from tsnl.kernel.heads.regression import bases
from tsnl.kernel.heads.weight_prior import feature_sd, slope_sd

PSEUDO = 2.0  # rows of pooled variance behind each series' own
JITTER = 3e-6  # added to a unit diagonal: features of the past are close to collinear
SHRUNKEN = (1.0, 0.3, 0.1, 0.03, 0.01)  # prior sds of other columns' weights that are tried
BLOCK = 4096  # rows whose products of features and theta are in memory at once


def ridge_start(
    rows: Rows, groups: Groups, others: Bool[Array, " F"] | None = None
) -> tuple[Float[Array, "P1 F"], Float[Array, "P2 2"]]:
    """Of rows of one component of y, the weights of the mean and the offsets of mean and log-scale.

    Two sweeps of generalised ridge regression on (1, theta) x features: the residual variance of each
    series gives the variance as a function of theta, and that weighs the rows of the next sweep.

    Args:
        rows: to start from.
        groups: of the features.
        others: features of other columns, whose weights are as small as Akaike's criterion asks for:
            many that are fitted to noise would make the rows seem less noisy than they are.
    """
    y, c, theta, series, share = rows
    num_rows, num_series = len(y), len(theta)
    linear, quadratic = jax.vmap(bases)(theta)
    mean_sd, _ = feature_sd(groups)
    weight_sd, quadratic_sd = slope_sd(theta.shape[1])
    linear_sd = weight_sd[: linear.shape[1]]
    precision = jnp.concatenate([(1 / (linear_sd * mean_sd) ** 2).ravel(), 1 / quadratic_sd[:, 0] ** 2])
    weight = jax.ops.segment_sum(jnp.ones(num_rows), series, num_series)
    size = min(BLOCK, num_rows)
    places = jnp.arange(-(-num_rows // size) * size)  # whole blocks; what is too much weighs nothing
    blocks = jnp.minimum(places, num_rows - 1).reshape(-1, size)

    if others is not None:
        theirs = jnp.concatenate([jnp.tile(others, len(linear_sd)), jnp.zeros(quadratic.shape[1], bool)])

    def design(index: Int[Array, " n"]) -> Float[Array, "n p"]:
        products = linear[series[index]][:, :, None] * c[index][:, None, :]
        return jnp.concatenate([products.reshape(size, -1), quadratic[series[index]]], axis=1)

    def sweep(_: Any, before: tuple[Array, Array]) -> tuple[Array, Array]:
        inverse = share * jnp.exp(-2 * jnp.clip(quadratic @ before[1], -6, 3))[series]
        inverse = jnp.where(places < num_rows, inverse[blocks.ravel()], 0.0).reshape(-1, size)

        def add(total: tuple[Array, Array], now: tuple[Array, Array]) -> tuple[Any, None]:
            x = design(now[0])
            weighted = (x * now[1][:, None]).T
            return (total[0] + weighted @ x, total[1] + weighted @ y[now[0]]), None

        begin = jnp.diag(precision), jnp.zeros(len(precision))
        (gram, right), _ = jax.lax.scan(add, begin, (blocks, inverse))
        if others is None:
            solution = _solve(gram, right)
        else:
            square = jnp.sum(inverse.ravel()[:num_rows] * y * y)
            solution = _shrunken(gram, right, precision * theirs, square, share * num_rows)
        fitted = jax.lax.map(lambda index: design(index) @ solution, blocks).ravel()[:num_rows]
        square = jax.ops.segment_sum((y - fitted) ** 2, series, num_series)
        pooled = jnp.sum(square) / num_rows
        logs = 0.5 * jnp.log((square + PSEUDO * pooled) / (weight + PSEUDO) + 1e-8)
        ridge = jnp.diag(1 / quadratic_sd[:, 0] ** 2)
        weighted = quadratic * weight[:, None] * share
        return solution, _solve(weighted.T @ quadratic + ridge, weighted.T @ logs)

    begin = jnp.zeros(len(precision)), jnp.zeros(quadratic.shape[1]).at[0].set(-0.35)
    solution, log_sd = jax.lax.fori_loop(0, 2, sweep, begin)
    mean = solution[: linear.shape[1] * c.shape[1]].reshape(linear.shape[1], c.shape[1])
    return mean, jnp.stack([solution[mean.size :], log_sd], axis=1)


def _shrunken(
    gram: Float[Array, "p p"],
    right: Float[Array, " p"],
    extra: Float[Array, " p"],
    square: Float[Array, ""],
    number: Float[Array, ""],
) -> Float[Array, " p"]:
    """The solution with the prior precision of some weights raised as Akaike's criterion asks for.

    Args:
        gram: of the regression, with the prior in it.
        right: of the regression.
        extra: its precision of these weights, zero of all others.
        square: the weighted sum of squares of y.
        number: what the rows count as.
    """

    def tried(factor: Array) -> tuple[Array, Array]:
        more = gram + jnp.diag((factor - 1) * extra)
        solution = _solve(more, right)
        left = square - 2 * solution @ right + solution @ gram @ solution  # with the prior in it
        used = jnp.trace(_solve(more, gram))
        return solution, number * jnp.log(jnp.maximum(left, 1e-6 * square)) + 2 * used

    solutions, criteria = jax.lax.map(tried, jnp.asarray(SHRUNKEN) ** -2.0)
    return solutions[jnp.argmin(jnp.where(jnp.isfinite(criteria), criteria, jnp.inf))]


def _solve(gram: Float[Array, "p p"], right: Float[Array, "p ..."]) -> Float[Array, "p ..."]:
    """By Cholesky on a scale where the diagonal is one; nothing where even that fails in 32 bit."""
    scale = 1 / jnp.sqrt(jnp.diag(gram))
    even = gram * scale[:, None] * scale + JITTER * jnp.eye(len(gram))
    solution = (scale * cho_solve((jnp.linalg.cholesky(even), True), (scale * right.T).T).T).T
    return jnp.where(jnp.all(jnp.isfinite(solution)), solution, 0.0)
