"""A law of the next state that was learned from simulated paths."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.kernel.fitted import Kernel
from tsnl.kernel.heads.base import Head
from tsnl.kernel.member import first_of

LEARNED = -1


class Transition(eqx.Module):
    r"""\(q(x_t \mid x_{t-1}, \theta)\): a kernel for some entries, copies for the rest.

    A state often carries what it needs again: a constant, or the value before (the companion form of an
    autoregression). Such entries are known before the others are drawn, and the kernel takes them as it
    takes inputs, after those of the model.

    Attributes:
        kernel: of the learned entries, with a lag of one; row 0 is x_0.
        sources: for each entry, the one of x_{t-1} that it repeats; `LEARNED` where it repeats none.
    """

    kernel: Kernel
    sources: tuple[int, ...] = eqx.field(static=True)

    def __call__(
        self,
        key: Key[Array, ""],
        x: Float[Array, "n d_x"],
        theta: Float[Array, " size"],
        t: Array,
        u: Float[Array, "2 d_u"],
    ) -> Float[Array, "n d_x"]:
        """Draw x_t of each particle, by each member of the ensemble for as many of them.

        Args:
            key: a JAX random key.
            x: particles at t - 1, a multiple of the members.
            theta: standardised.
            t: the time.
            u: inputs of t - 1 and of t.
        """
        kernel, members = self.kernel, self.kernel.spec.num_members
        memory = first_of(kernel.members).memory
        free, sources = self.learned, np.array(self.sources)
        carried = np.flatnonzero(sources != LEARNED)

        def features(own: Float[Array, " d_x"]) -> Float[Array, " F"]:
            repeated = jnp.stack([own[carried], own[sources[carried]]])  # at t - 1, and at t
            known = kernel.scaling.standardise_u(jnp.concatenate([u, repeated], axis=1), t - 1)
            v = kernel.scaling.standardise(own[free])
            state = memory.push(memory.init(), v, jnp.ones(v.shape, bool), known[0])
            return jnp.concatenate([memory.features(state), known[1]])

        found = jax.vmap(features)(x)
        groups = found.reshape(-1, members, found.shape[1]).swapaxes(0, 1)  # evenly, by their places
        arrays, static = eqx.partition(kernel.members.head, eqx.is_array)

        def draw(weights: Head, key: Array, c: Float[Array, "n F"]) -> Float[Array, "n d_x"]:
            return eqx.combine(weights, static).samples(key, c, theta, kernel.settle)

        drawn = jax.vmap(draw)(arrays, jax.random.split(key, members), groups)
        new = kernel.restore(drawn.swapaxes(0, 1).reshape(len(x), len(free)))
        return x[:, sources].at[:, free].set(new)

    def units(self, x: Float[Array, "*n d_x"]) -> Float[Array, "*n d_x"]:
        """States with their learned entries in the kernel's units."""
        free = self.learned
        return x.at[..., free].set(self.kernel.scaling.standardise(x[..., free]))

    @property
    def learned(self) -> np.ndarray:
        """Places of the learned entries."""
        return np.flatnonzero(np.array(self.sources) == LEARNED)


def repeated_entries(states: Float[np.ndarray, "n times d_x"]) -> tuple[int, ...]:
    """For each entry, the one of the time before that it repeats in every path; itself if it can be."""
    before, after = states[:, :-1], states[:, 1:]
    d_x = states.shape[2]
    found = []
    for j in range(d_x):
        same = (i for i in (j, *range(d_x)) if np.array_equal(after[:, :, j], before[:, :, i]))
        found.append(next(same, LEARNED))
    return tuple(found)
