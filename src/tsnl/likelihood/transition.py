"""A law of the next state that was learned from simulated paths."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.kernel.fitted import Kernel
from tsnl.kernel.heads.autoregressive import Autoregressive
from tsnl.kernel.member import first_of

LEARNED = -1
HIDDEN = -1


class Transition(eqx.Module):
    r"""\(q(x_t \mid x_{t-1}, \theta)\): a kernel for some entries, copies for the rest.

    A state often carries what it needs again: a constant, or the value before (the companion form of an
    autoregression). Such entries are known before the others are drawn, and the kernel takes them as it
    takes inputs, after those of the model.

    Entries may be seen without noise, as the last return is in a law of the next variance. They come
    first in the kernel. Where y_t is there they are not drawn but known, a particle counts by their
    density, and its other entries are drawn given them.

    Attributes:
        kernel: of the learned entries, with a lag of one; row 0 is x_0.
        sources: for each entry, the one of x_{t-1} that it repeats; `LEARNED` where it repeats none.
        columns: for each entry, the column of y that shows it; `HIDDEN` where none does.
    """

    kernel: Kernel
    sources: tuple[int, ...] = eqx.field(static=True)
    columns: tuple[int, ...] = eqx.field(static=True)

    def __call__(
        self,
        key: Key[Array, ""],
        x: Float[Array, "n d_x"],
        theta: Float[Array, " size"],
        t: Array,
        u: Float[Array, "2 d_u"],
        y: Float[Array, " d_y"],
    ) -> tuple[Float[Array, "n d_x"], Float[Array, " n"]]:
        """Draw x_t of each particle, by each member of the ensemble for as many of them.

        Args:
            key: a JAX random key.
            x: particles at t - 1, a multiple of the members.
            theta: standardised.
            t: the time.
            u: inputs of t - 1 and of t.
            y: the row at t, NaN where it is missing.

        Returns:
            The particles at t, and the log-density of what of them is seen.
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

        seen = self._seen(y)
        known = None if seen is None else kernel.scaling.standardise(seen)

        def draw(weights: Any, key: Array, c: Float[Array, "n F"]) -> tuple[Array, Array]:
            head: Autoregressive = eqx.combine(weights, static)
            drawn = head.samples(key, c, theta, kernel.settle, known)
            if seen is None:
                return drawn, jnp.zeros(len(c))
            targets = kernel.targets(jnp.where(jnp.isnan(seen), kernel.restore(drawn), seen))
            each = head.conditionals(targets, c, theta)[0] + kernel.log_jacobian(seen)
            return drawn, jnp.sum(jnp.where(jnp.isnan(seen), 0.0, each), axis=1)

        drawn, log_q = jax.vmap(draw)(arrays, jax.random.split(key, members), groups)
        new = kernel.restore(drawn.swapaxes(0, 1).reshape(len(x), len(free)))
        if seen is not None:
            new = jnp.where(jnp.isnan(seen), new, seen)
        return x[:, sources].at[:, free].set(new), log_q.T.reshape(len(x))

    def _seen(self, y: Float[Array, " d_y"]) -> Float[Array, " learned"] | None:
        """What a row says of the learned entries, NaN where nothing; None where it never does."""
        places = np.array(self.columns)[self.learned]
        if (places == HIDDEN).all():
            return None
        return jnp.where(places == HIDDEN, jnp.nan, y[np.maximum(places, 0)])

    def units(self, x: Float[Array, "*n d_x"]) -> Float[Array, "*n d_x"]:
        """States with their learned entries in the kernel's units."""
        free = self.learned
        return x.at[..., free].set(self.kernel.scaling.standardise(x[..., free]))

    @property
    def learned(self) -> np.ndarray:
        """Places of the learned entries, in the order of the kernel."""
        return order_learned(self.sources, self.columns)


def order_learned(sources: tuple[int, ...], columns: tuple[int, ...]) -> np.ndarray:
    """Places of the learned entries: those that are seen, and the others."""
    places = np.flatnonzero(np.array(sources) == LEARNED)
    return places[np.argsort(np.array(columns)[places] == HIDDEN, kind="stable")]


def repeated_entries(states: Float[np.ndarray, "n times d_x"]) -> tuple[int, ...]:
    """For each entry, the one of the time before that it repeats in every path; itself if it can be."""
    before, after = states[:, :-1], states[:, 1:]
    d_x = states.shape[2]
    found = []
    for j in range(d_x):
        same = (i for i in (j, *range(d_x)) if np.array_equal(after[:, :, j], before[:, :, i]))
        found.append(next(same, LEARNED))
    return tuple(found)


def seen_entries(
    states: Float[np.ndarray, "n times d_x"],
    rows: Float[np.ndarray, "n rows d_y"],
    sources: tuple[int, ...],
) -> tuple[int, ...]:
    """For each learned entry, the column of y that is the same in every row of every path."""
    now, columns = states[:, 1:], range(rows.shape[2])
    same = (
        (j for j in columns if sources[i] == LEARNED and np.array_equal(now[:, :, i], rows[:, :, j]))
        for i in range(states.shape[2])
    )
    return tuple(next(found, HIDDEN) for found in same)
