r"""The particle filter's unbiased estimate, as the random log-density of an unconstrained z."""

from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.likelihood.particle import bootstrap, require_filterable, whole_rows
from tsnl.models.base import StateSpaceModel
from tsnl.problem.prior import Prior


class Estimate(eqx.Module):
    r"""\(\log p(z) + \log \hat p(y_{1:T} \mid \theta(z))\), whose exponential is unbiased.

    Attributes:
        prior: the prior.
        model: a model with `log_observation`.
        rows: the observed series in the model's own shape; a row of NaN is skipped as missing.
        inputs: its known inputs, where there are any.
        num_particles: particles of each filter run.
    """

    prior: Prior = eqx.field(static=True)
    model: StateSpaceModel
    rows: Float[Array, "T ..."]
    inputs: Float[Array, "T d_u"] | None
    num_particles: int = eqx.field(static=True)

    @staticmethod
    def of(
        model: StateSpaceModel,
        prior: Prior,
        series: Float[np.ndarray, "T d_y"],
        num_particles: int,
        inputs: Float[np.ndarray, "T d_u"] | None = None,
    ) -> "Estimate":
        """Check the model and the series.

        Raises:
            TypeError: the model has no `log_observation`.
            ValueError: a row is missing in part.
        """
        require_filterable(model)
        known = None if inputs is None else jnp.asarray(inputs, dtype=float)
        return Estimate(prior, model, whole_rows(model, series, inputs), known, num_particles)

    def with_particles(self, num_particles: int) -> "Estimate":
        """The same by filters of so many particles."""
        return replace(self, num_particles=num_particles)

    def __call__(self, key: Key[Array, ""], z: Float[Array, " size"]) -> Float[Array, ""]:
        """One run of the filter at z; -inf where it is impossible, never NaN."""
        filterable = require_filterable(self.model)
        theta = self.prior.constrain(z)
        found = bootstrap(key, filterable, theta, self.rows, self.num_particles, self.inputs)
        value = self.prior.log_prob_unconstrained(z) + found.log_likelihood
        return jnp.where(jnp.isnan(value), -jnp.inf, value)
