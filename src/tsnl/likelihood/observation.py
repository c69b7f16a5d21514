"""The law of an observation given its state, as a filter weighs particles by it."""

from typing import Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsnl.kernel.fitted import Kernel
from tsnl.likelihood.entries import Entries
from tsnl.likelihood.transition import Transition
from tsnl.models.base import Filterable, Theta


@runtime_checkable
class Observation(Protocol):
    r"""\(\log p_\theta(y_t \mid x_t)\) of one row and many states."""

    def __call__(
        self,
        y: Float[Array, "..."],
        x: Float[Array, "n d_x"],
        theta: Theta,
        z: Float[Array, " size"],
        t: Array,
        u: Float[Array, "..."] | None,
    ) -> Float[Array, " n"]:
        """At theta, which is z in the units of the model."""
        ...


class KnownObservation(eqx.Module):
    """The model's own `log_observation`."""

    model: Filterable

    def __call__(
        self,
        y: Float[Array, "..."],
        x: Float[Array, "n d_x"],
        theta: Theta,
        z: Float[Array, " size"],
        t: Array,
        u: Float[Array, "..."] | None,
    ) -> Float[Array, " n"]:
        """State by state."""
        entries = Entries.of(self.model, theta)
        return jax.vmap(lambda row: self.model.log_observation(y, entries.state(row), theta, t, u))(x)


class LearnedObservation(eqx.Module):
    """A kernel without a memory, which takes the state as it takes inputs, after those of the model.

    Attributes:
        kernel: of the rows.
        transition: whose units the states are in.
        columns: of y, that it is of.
    """

    kernel: Kernel
    transition: Transition
    columns: tuple[int, ...] = eqx.field(static=True)

    def __call__(
        self,
        y: Float[Array, "..."],
        x: Float[Array, "n d_x"],
        theta: Theta,
        z: Float[Array, " size"],
        t: Array,
        u: Float[Array, "..."] | None,
    ) -> Float[Array, " n"]:
        """Of all states at once; a row in which something is missing is not asked about."""
        kernel, row = self.kernel, jnp.nan_to_num(jnp.ravel(y))[np.array(self.columns)]
        own = jnp.zeros(0) if u is None else jnp.atleast_1d(u)
        states = self.transition.units(x)
        known = jnp.concatenate([jnp.broadcast_to(own, (len(x), len(own))), states], axis=1)
        target = jnp.broadcast_to(kernel.targets(row), (len(x), kernel.targets(row).shape[0]))
        features = kernel.scaling.standardise_u(known)[None]
        log_q = kernel.log_probs(target, features, kernel.scaling.standardise_z(z))
        return log_q + jnp.sum(kernel.log_jacobian(row))


class NoObservation(eqx.Module):
    """Where all of a row is part of the state: its law is that of the state."""

    def __call__(
        self,
        y: Float[Array, "..."],
        x: Float[Array, "n d_x"],
        theta: Theta,
        z: Float[Array, " size"],
        t: Array,
        u: Float[Array, "..."] | None,
    ) -> Float[Array, " n"]:
        """It says no more."""
        return jnp.zeros(len(x))
