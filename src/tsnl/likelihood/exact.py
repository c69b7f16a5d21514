r"""The exact likelihood of a linear-Gaussian model, as a function of an unconstrained z."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsnl.likelihood.kalman import filter_moments
from tsnl.models.linear_gaussian import LinearGaussian
from tsnl.problem.prior import Prior


class ExactLikelihood(eqx.Module):
    r"""\(\log p(y_{1:T} \mid \theta(z))\) by the Kalman filter, in the precision at hand.

    Attributes:
        prior: turns z into theta.
        model: the linear-Gaussian model.
        rows: the observed series in 64 bit, NaN where missing.
    """

    prior: Prior = eqx.field(static=True)
    model: LinearGaussian
    rows: Float[Any, "T d_y"]

    def __call__(self, z: Float[Array, " size"]) -> Float[Array, ""]:
        """The log-likelihood at an unconstrained z."""
        rows: Any = self.rows
        if isinstance(rows, np.ndarray):  # a copy: JAX may remember it in the precision it first saw
            rows = np.array(rows)
        rows = jnp.asarray(rows, dtype=float)
        return jnp.asarray(filter_moments(self.model, self.prior.constrain(z), rows).log_likelihood)
