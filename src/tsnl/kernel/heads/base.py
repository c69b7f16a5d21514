r"""What a conditional density q(y | context, theta) is, in standardised units.

A family is a frozen dataclass of options whose `make` gives a fresh density; a density is an
`eqx.Module` for one window. Batches and ensembles are `vmap` outside.
"""

from abc import abstractmethod
from typing import Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from tsnl.kernel.memory import Context, Past, Windows


class Density(eqx.Module):
    """A conditional density of one observation."""

    @abstractmethod
    def log_prob(
        self, y: Float[Array, " d_y"], context: Context, theta: Float[Array, " size"]
    ) -> Float[Array, ""]:
        r"""\(\log q(y_t \mid \text{context}, \theta)\)."""

    def log_probs(
        self, y: Float[Array, "n d_y"], context: Context, theta: Float[Array, "*#n size"]
    ) -> Float[Array, " n"]:
        """The same for n windows, at one theta or at one for each window.

        A family that takes leading axes anyway need not be mapped.
        """
        axis = None if theta.ndim == 1 else 0
        return jax.vmap(self.log_prob, in_axes=(0, 0, axis))(y, context, theta)

    @abstractmethod
    def sample(
        self, key: Key[Array, ""], context: Context, theta: Float[Array, " size"]
    ) -> Float[Array, " d_y"]:
        """Draw y_t."""

    def penalty(self) -> Float[Array, ""]:
        """Minus the log-prior of the weights, in nats, up to a constant."""
        return jnp.zeros(())


@runtime_checkable
class Family(Protocol):
    """Options of a family, and how to make a member of it."""

    def make(self, key: Key[Array, ""], d_y: int, past: Past, size: int) -> Density:
        """A fresh density for d_y columns, a context as `past` says and `size` parameters."""
        ...

    def start(
        self,
        key: Key[Array, ""],
        num_members: int,
        windows: Windows,
        theta: Float[Array, "N size"],
        use: Bool[Array | np.ndarray, "M N T"],
        past: Past,
    ) -> Density:
        """An ensemble to train, stacked along a first axis, that may have looked at the data."""
        ...


def flatten(context: Context, theta: Float[Array, " size"]) -> Float[Array, " inputs"]:
    """Context and parameters as one vector, for families that look at them alike."""
    parts = (context.lags.ravel(), context.absent.ravel(), context.far, context.inputs, theta)
    return jnp.concatenate(parts)


def num_inputs(d_y: int, past: Past, size: int) -> int:
    """Length of what `flatten` gives."""
    return past.num_features(d_y) + size


def num_weights(density: Density, d_y: int, past: Past, size: int) -> int:
    """The number of trained weights: those that the log-density depends on at some input.

    Masked and frozen entries have no gradient anywhere, so they do not count.
    """
    arrays, static = eqx.partition(density, eqx.is_inexact_array)

    def log_prob(arrays: Density, key: Key[Array, ""]) -> Array:
        k = jax.random.split(key, 5)
        context = Context(
            jax.random.normal(k[0], (past.lag, d_y)),
            jax.random.bernoulli(k[1], 0.5, (past.lag, d_y)) * 1.0,
            jax.random.normal(k[2], (past.num_far(d_y),)),
            jax.random.normal(k[4], (past.num_known,)),
        )
        y, theta = jnp.split(jax.random.normal(k[3], (d_y + size,)), [d_y])
        return eqx.combine(arrays, static).log_prob(y, context, theta)

    def nudge(x: Array) -> Array:  # no weight is hidden behind another that starts at zero
        return x + 0.1 * jax.random.normal(jax.random.key(x.size), x.shape)

    keys = jax.random.split(jax.random.key(0), 64)
    gradients = jax.jit(jax.vmap(jax.grad(log_prob), in_axes=(None, 0)))(
        jax.tree.map(nudge, arrays), keys
    )
    return sum(int(jnp.any(g != 0, axis=0).sum()) for g in jax.tree.leaves(gradients))
