"""The weights of the components of a mixture density, and the regression that they make.

Functions are for one component; `jax.vmap` maps them over all. Rows come last, n of them, so that sums
over the few terms, Gaussians or components go along rows; theta has m columns, n or one for all rows.
This is traced often, so it uses `lax` where `jnp` would wrap a function of its own around every
operation.
"""

from math import isqrt

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float


class Part(eqx.Module):
    """The weights of one component of y, or of all of them, stacked along a first axis.

    P1 = 1 + size, P2 = P1 + size (size + 1) / 2. P is P1, or P2 where the features' weights bend with
    theta (see `num_terms`). E is F and the number of bent features. All components have weights for as
    many components before them as the last one has, d_y - 1; `earlier` marks those that count.
    """

    mean: Float[Array, "*d_y P E"]
    scale: Float[Array, "*d_y P E"]
    offset: Float[Array, "*d_y P2 2"]
    couple: Float[Array, "*d_y P2 before"]
    curve: Float[Array, "*d_y P2 twice 2"]
    shape: Float[Array, "*d_y heads"]
    layers: list[tuple[Array, Array]]
    out: Float[Array, "*d_y width heads"]
    bends: tuple[Float[Array, "*d_y F bent"], Float[Array, "*d_y bent"]]


def earlier(d_y: int) -> Float[np.ndarray, "d_y before"]:
    """One where a component comes before another, zero elsewhere."""
    return np.tri(d_y, d_y - 1, -1, dtype=np.float32)


def soft(x: Array, bound: float) -> Array:
    """The identity near zero, bounded far out."""
    return bound * lax.tanh(x * (1 / bound))


def level(x: Array, bound: float) -> Array:
    """The identity for longer than `soft`, then bounded."""
    square = x * x * (1 / bound**2)
    return x * lax.rsqrt(lax.sqrt(1 + square * square))


def num_terms(size: int, curved: bool) -> int:
    """Terms of theta that a feature's weight is made of: (1, theta), or their products too.

    A filter's gain is no linear function of theta over the width of a posterior; to see that it bends
    takes many series.
    """
    return 1 + size + (size * (size + 1) // 2 if curved else 0)


def num_parameters(part: Part) -> int:
    """The size of theta: an offset has a row for each of its (size + 1)(size + 2) / 2 terms."""
    return (isqrt(8 * part.offset.shape[-2] + 1) - 3) // 2


def bases(theta: Float[Array, "size ..."]) -> tuple[Float[Array, "P1 ..."], Float[Array, "P2 ..."]]:
    """(1, theta) and the same with the centred products of theta's entries."""
    i, j = np.triu_indices(len(theta))
    bounded = soft(theta, 4.0)
    linear = lax.concatenate([lax.full_like(theta[:1], 1.0), theta], 0)
    same = np.asarray(i == j, theta.dtype).reshape(-1, *[1] * (theta.ndim - 1))
    return linear, lax.concatenate([linear, bounded[i] * bounded[j] - same], 0)


def extended(part: Part, c: Float[Array, "F n"]) -> Float[Array, "E n"]:
    """Features, and bent combinations of them: what is not linear in the past, yet simple in theta."""
    weight, bias = part.bends
    if not len(bias):
        return c
    return lax.concatenate([c, lax.tanh(weight.T @ soft(c, 4.0) + bias[:, None])], 0)


def regression(
    part: Part, c: Float[Array, "F n"], theta: Float[Array, "size m"]
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Step 1 of the mixture's text: the mean and the log-scale."""
    _, quadratic = bases(theta)
    c = extended(part, c)
    offset = part.offset.T @ quadratic
    terms = quadratic[: len(part.mean)]
    mean = _weigh(terms, part.mean, c) + offset[0]
    log_scale = _weigh(terms, part.scale, soft(c, 4.0)) + offset[1]
    return mean, soft(log_scale, 8.0)


def decouple(
    part: Part,
    theta: Float[Array, "size m"],
    before: Float[Array, "before n"],
    counts: Float[Array, " before"],
) -> tuple[Float[Array, " _"], Float[Array, " _"], Float[Array, " _"]]:
    """Step 2: the log of the residual's stretch, what to take away, and the log-scale of the rest.

    Of the residuals of all components but the last, those count that come before this one.
    """
    if not len(before):
        zero = lax.full_like(theta[0], 0.0)
        return zero, zero, zero
    _, quadratic = bases(theta)
    less = lax.expm1(soft(part.couple.T @ quadratic, 4.0))
    couple = 0.5 * (less + less / (less + 1)) * counts[:, None]  # sinh
    bent = lax.concatenate([lax.tanh(before), lax.log1p(before * before)], 0)
    shifts = _weigh(quadratic, part.curve * jnp.tile(counts, 2)[:, None], bent)
    moved = jnp.sum(couple * before, axis=0) + shifts[0]
    return 0.5 * lax.log1p(jnp.sum(couple * couple, axis=0)), moved, soft(shifts[1], 4.0)


def _weigh(
    terms: Float[Array, "P m"], weights: Float[Array, "P E ..."], c: Float[Array, "E n"]
) -> Float[Array, "... n"]:
    """The sum of terms x weights x c: one theta for all rows meets the weights first, else c does."""
    if terms.shape[1] == 1:
        return jnp.tensordot(jnp.tensordot(terms[:, 0], weights, 1), c, [[0], [0]])
    found = jnp.tensordot(weights, c, [[1], [0]])
    return jnp.sum(found * jnp.expand_dims(terms, range(1, found.ndim - 1)), axis=0)
