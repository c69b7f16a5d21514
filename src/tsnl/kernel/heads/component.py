"""The law of one component of y: a mixture of K Gaussians behind an affine map."""

from typing import NamedTuple

import numpy as np
from jax import lax
from jaxtyping import Array, Float


class Component(NamedTuple):
    """The law of one component of y: an affine map of y to what has the mixture of K Gaussians."""

    mean: Float[Array, "*b"]
    residual_log_scale: Float[Array, "*b"]
    log_stretch: Float[Array, "*b"]
    moved: Float[Array, "*b"]
    log_scale: Float[Array, "*b"]
    log_weights: Float[Array, "*b K"]
    means: Float[Array, "*b K"]
    log_scales: Float[Array, "*b K"]

    @property
    def log_jacobian(self) -> Float[Array, "*b"]:
        """Of the affine map."""
        return self.log_stretch - self.log_scale - self.residual_log_scale

    def white(self, y: Float[Array, "*b"]) -> Float[Array, "*b K"]:
        """A value, whitened by each Gaussian."""
        residual = (y - self.mean) * lax.exp(-self.residual_log_scale)
        left = (residual * lax.exp(self.log_stretch) - self.moved) * lax.exp(-self.log_scale)
        return (left[..., None] - self.means) * lax.exp(-self.log_scales)


def log_sum(x: Float[Array, "*b K"]) -> Float[Array, "*b"]:
    """Log of the sum of exponentials over the last axis, safe from overflow."""
    axis = x.ndim - 1
    top = lax.stop_gradient(lax.reduce(x, np.array(-np.inf, x.dtype), lax.max, (axis,)))
    total = lax.reduce(lax.exp(x - top[..., None]), np.zeros((), x.dtype), lax.add, (axis,))
    return top + lax.log(total)
