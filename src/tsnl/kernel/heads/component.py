"""The law of one component of y: a mixture of K Gaussians behind an affine map."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from tsnl.kernel.heads.regression import Part, soft


class Component(NamedTuple):
    """The law of one component of y: an affine map of y to what has the mixture of K Gaussians.

    Of n rows, which come last: sums over K go along them. What is the same for all rows has m = 1.
    """

    mean: Float[Array, " m"]
    residual_log_scale: Float[Array, " m"]
    log_stretch: Float[Array, " m"]
    moved: Float[Array, " m"]
    log_scale: Float[Array, " m"]
    log_weights: Float[Array, "K m"]
    means: Float[Array, "K m"]
    log_scales: Float[Array, "K m"]

    @property
    def log_jacobian(self) -> Float[Array, " m"]:
        """Of the affine map."""
        return self.log_stretch - self.log_scale - self.residual_log_scale

    def white(self, y: Float[Array, " m"]) -> Float[Array, "K m"]:
        """A value, whitened by each Gaussian."""
        residual = (y - self.mean) * lax.exp(-self.residual_log_scale)
        left = (residual * lax.exp(self.log_stretch) - self.moved) * lax.exp(-self.log_scale)
        return (left - self.means) * lax.exp(-self.log_scales)


def log_sum(x: Float[Array, "K m"]) -> Float[Array, " m"]:
    """Log of the sum of exponentials over the first axis, safe from overflow."""
    top = lax.stop_gradient(lax.reduce(x, np.array(-np.inf, x.dtype), lax.max, (0,)))
    total = lax.reduce(lax.exp(x - top), np.zeros((), x.dtype), lax.add, (0,))
    return top + lax.log(total)


def mixture(
    part: Part,
    c: Float[Array, "F n"],
    theta: Float[Array, "size m"],
    before: Float[Array, "before n"],
    counts: Float[Array, " before"],
) -> tuple[Float[Array, "K _"], Float[Array, "K _"], Float[Array, "K _"]]:
    """Step 3: log-weights up to a constant, means and log-scales of the Gaussians."""
    shape = part.shape[:, None]
    if part.layers:
        (first, bias), *rest = part.layers
        cuts = len(c), len(c) + len(before)
        # in three parts: of a theta that is for all windows, and of windows that stay while it moves
        hidden = first[: cuts[0]].T @ soft(c, 4.0) + first[cuts[1] :].T @ soft(theta, 4.0)
        if len(before):
            hidden = hidden + (first[cuts[0] : cuts[1]] * counts[:, None]).T @ before
        hidden = _bend(hidden, bias)
        for weight, bias in rest:
            hidden = _bend(weight.T @ hidden, bias)
        shape = shape + part.out.T @ hidden
    log_weights, means, log_scales = jnp.split(shape, 3)
    return log_weights, soft(means, 6.0), soft(log_scales, 3.0)


def _bend(x: Float[Array, "width n"], bias: Float[Array, " width"]) -> Float[Array, "width n"]:
    """A layer's output."""
    x = x + bias[:, None]
    return x * lax.logistic(x)
