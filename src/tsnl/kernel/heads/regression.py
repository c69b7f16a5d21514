"""The weights of one component of a mixture density, and the regression that they make.

Any leading axes of features and theta stay. This is traced often, in training and in sampling, so it
uses `lax` where `jnp` would wrap a function of its own around every operation.
"""

from math import isqrt
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float


class Part(eqx.Module):
    """The weights of one component of y; P1 = 1 + size, P2 = P1 + size (size + 1) / 2.

    P is P1, or P2 where the features' weights bend with theta (see `num_terms`). E is F and the number
    of bent features (see `extended`).
    """

    mean: Float[Array, "P E"]
    scale: Float[Array, "P E"]
    offset: Float[Array, "P2 2"]
    couple: Float[Array, "P2 before"]
    curve: Float[Array, "P2 twice 2"]
    shape: Float[Array, " heads"]
    layers: list[tuple[Array, Array]]
    out: Float[Array, "width heads"]
    bends: tuple[Float[Array, "F bent"], Float[Array, " bent"]]


class Regression(NamedTuple):
    """Step 1 and the coefficients of step 2 for one component: what depends on features and theta."""

    mean: Float[Array, "..."]
    log_scale: Float[Array, "..."]
    couple: Float[Array, "... before"]
    curve: Float[Array, "... twice 2"]


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
    return (isqrt(8 * len(part.offset) + 1) - 3) // 2


def bases(theta: Float[Array, "... size"]) -> tuple[Float[Array, "... P1"], Float[Array, "... P2"]]:
    """(1, theta) and the same with the centred products of theta's entries."""
    i, j = np.triu_indices(theta.shape[-1])
    axis = theta.ndim - 1
    bounded = soft(theta, 4.0)
    linear = lax.concatenate([lax.full_like(theta[..., :1], 1.0), theta], axis)
    products = bounded[..., i] * bounded[..., j] - np.asarray(i == j, theta.dtype)
    return linear, lax.concatenate([linear, products], axis)


def extended(part: Part, c: Float[Array, "... F"]) -> Float[Array, "... E"]:
    """Features, and bent combinations of them: what is not linear in the past, yet simple in theta."""
    weight, bias = part.bends
    if not weight.shape[1]:
        return c
    return lax.concatenate([c, lax.tanh(soft(c, 4.0) @ weight + bias)], c.ndim - 1)


def regression(part: Part, c: Float[Array, "... F"], theta: Float[Array, "... size"]) -> Regression:
    """Step 1 of the module's text, and the coefficients of step 2."""
    _, quadratic = bases(theta)
    c = extended(part, c)
    offset = quadratic @ part.offset
    terms = quadratic[..., : len(part.mean)]
    mean = _sum((terms @ part.mean) * c) + offset[..., 0]
    log_scale = _sum((terms @ part.scale) * soft(c, 4.0)) + offset[..., 1]
    if not part.couple.shape[1]:
        nothing = theta[..., :0]
        return Regression(mean, soft(log_scale, 8.0), nothing, nothing[..., None])
    couple = jnp.sinh(soft(quadratic @ part.couple, 4.0))
    curve = jnp.tensordot(quadratic, part.curve, axes=1)
    return Regression(mean, soft(log_scale, 8.0), couple, curve)


def decouple(
    fit: Regression, before: Float[Array, "... before"]
) -> tuple[Float[Array, "..."], Float[Array, "..."], Float[Array, "..."]]:
    """Step 2: the log of the residual's stretch, what to take away, and the log-scale of the rest."""
    if not before.shape[-1]:
        zero = lax.full_like(fit.mean, 0.0)
        return zero, zero, zero
    log_stretch = 0.5 * jnp.log1p(_sum(fit.couple**2))
    bent = jnp.concatenate([jnp.tanh(before), jnp.log1p(before**2)], axis=-1)
    shifts = jnp.sum(bent[..., None] * fit.curve, axis=-2)
    moved = _sum(fit.couple * before) + shifts[..., 0]
    return log_stretch, moved, soft(shifts[..., 1], 4.0)


def _sum(x: Float[Array, "... n"]) -> Float[Array, "..."]:
    """Over the last axis."""
    return lax.reduce(x, np.zeros((), x.dtype), lax.add, (x.ndim - 1,))
