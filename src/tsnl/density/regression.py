"""The weights of one component of a mixture density, and the regression that they make."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsnl.windows import Context


class Part(eqx.Module):
    """The weights of one component of y; P1 = 1 + size, P2 = P1 + size (size + 1) / 2."""

    mean: Float[Array, "P1 F"]
    scale: Float[Array, "P1 F"]
    offset: Float[Array, "P2 2"]
    couple: Float[Array, "P2 before"]
    curve: Float[Array, "P2 twice 2"]
    shape: Float[Array, " heads"]
    layers: list[tuple[Array, Array]]
    out: Float[Array, "width heads"]


class Regression(eqx.Module):
    """Step 1 and the coefficients of step 2 for one component: what depends on context and theta."""

    mean: Float[Array, ""]
    log_scale: Float[Array, ""]
    couple: Float[Array, " before"]
    curve: Float[Array, "twice 2"]


def features(context: Context) -> Float[Array, " F"]:
    """Lags, absences and summaries as one vector, in the order that the weights' prior knows."""
    return jnp.concatenate([context.lags.ravel(), context.absent.ravel(), context.far])


def soft(x: Array, bound: float) -> Array:
    """The identity near zero, bounded far out."""
    return bound * jnp.tanh(x / bound)


def level(x: Array, bound: float) -> Array:
    """The identity for longer than `soft`, then bounded."""
    return x / jnp.sqrt(jnp.sqrt(1 + (x / bound) ** 4))


def bases(theta: Float[Array, " size"]) -> tuple[Float[Array, " P1"], Float[Array, " P2"]]:
    """(1, theta) and the same with the centred products of theta's entries."""
    i, j = np.triu_indices(theta.shape[0])
    bounded = soft(theta, 4.0)
    linear = jnp.append(1.0, theta)
    return linear, jnp.concatenate([linear, bounded[i] * bounded[j] - 1.0 * (i == j)])


def regression(part: Part, c: Float[Array, " F"], theta: Float[Array, " size"]) -> Regression:
    """Step 1 of the module's text, and the coefficients of step 2."""
    linear, quadratic = bases(theta)
    offset = quadratic @ part.offset
    mean = linear @ part.mean @ c + offset[0]
    log_scale = linear @ part.scale @ soft(c, 4.0) + offset[1]
    couple = jnp.sinh(soft(quadratic @ part.couple, 4.0))
    curve = jnp.tensordot(quadratic, part.curve, axes=1)
    return Regression(mean, soft(log_scale, 8.0), couple, curve)


def decouple(
    fit: Regression, before: Float[Array, " before"]
) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
    """Step 2: the stretch of the residual, what to take away from it, and the log-scale of the rest."""
    stretch = jnp.sqrt(1 + jnp.sum(fit.couple**2))
    bent = jnp.concatenate([jnp.tanh(before), jnp.log1p(before**2)])
    mean, log_scale = bent @ fit.curve if before.size else jnp.zeros(2)
    return stretch, jnp.sum(fit.couple * before) + mean, soft(log_scale, 4.0)
