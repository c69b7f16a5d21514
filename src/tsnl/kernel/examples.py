"""Simulated series to learn from, in standardised units, and which of their rows."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from tsnl.kernel.member import KernelSpec, Member
from tsnl.kernel.scaling import Scaling


class Simulated(NamedTuple):
    """Series as a simulator made them, one row of z each; NaN where there is nothing.

    Attributes:
        series: in the user's units.
        inputs: known inputs of each row.
        z: unconstrained parameters.
        num_views: series i, i + N / num_views, ... are views of one path of states, with one z.
    """

    series: Float[np.ndarray, "N T columns"]
    inputs: Float[np.ndarray, "N T d_u"]
    z: Float[np.ndarray, "N size"]
    num_views: int = 1


class Examples(eqx.Module):
    """N series of common length.

    Attributes:
        y: standardised rows, finite everywhere.
        seen: which entries a memory may see; all False for a failed or a padding series.
        u: standardised inputs.
        theta: standardised parameters of each series.
        bins: rows as a head takes them, with the bins of counts; None where it takes y itself.
        features: of the past of every row, where the memory has no weights; None where each member has
            to compute its own.
    """

    y: Float[Array, "N T d_y"]
    seen: Bool[Array, "N T d_y"]
    u: Float[Array, "N T d_u"]
    theta: Float[Array, "N size"]
    bins: Float[Array, "N T entries"] | None = None
    features: Float[Array, "N T F"] | None = None

    @property
    def targets(self) -> Float[Array, "..."]:
        """Rows as a head takes them."""
        return self.y if self.bins is None else self.bins

    def along(self, member: Member) -> Float[Array, "N T F"]:
        """What a member's head sees before each row."""
        return jax.vmap(member.features)(self.y, self.seen, self.u)

    def take(self, series: Int[Array, " n"]) -> "Examples":
        """Some of the series."""
        return jax.tree.map(lambda x: x[series], self)


@eqx.filter_jit
def standardise(
    key: Key[Array, ""],
    spec: KernelSpec,
    scaling: Scaling,
    simulated: Simulated,
    seen: Bool[Array | np.ndarray, "N T d_y"],
) -> Examples:
    """Examples in the networks' units; counts get uniform noise where a head takes them for reals."""
    rows = jnp.asarray(simulated.series)
    y = jnp.where(jnp.isfinite(rows), rows, 0.0)
    if any(spec.integer) and not spec.discrete:
        noise = jax.random.uniform(key, y.shape, minval=-0.5, maxval=0.5)
        y += jnp.where(np.array(spec.integer), noise, 0.0)
    u, theta = scaling.standardise_u(jnp.asarray(simulated.inputs)), jnp.asarray(simulated.z)
    bins = head_rows(spec, scaling, y) if spec.discrete else None
    return Examples(scaling.standardise(y), jnp.asarray(seen), u, scaling.standardise_z(theta), bins)


def head_rows(
    spec: KernelSpec, scaling: Scaling, rows: Float[Array, "*T d_y"]
) -> Float[Array, "*T entries"]:
    """What a head takes of rows in the user's units: standardised, and the bins of counts."""
    y = scaling.standardise(rows)
    return jnp.concatenate([y, *scaling.edges(rows)], axis=-1) if spec.discrete else y


class Units(NamedTuple):
    """What a step of training picks from: rows, or whole series.

    Attributes:
        places: those in use, in order, then others: one shape, however many there are.
        number: how many are in use.
    """

    places: Int[Array, " units"]
    number: Int[Array, ""]

    @staticmethod
    def of(use: Bool[Array, " units"]) -> "Units":
        """Those of some units that are in use."""
        places = jnp.flatnonzero(use, size=len(use), fill_value=len(use) - 1)
        return Units(places.astype(jnp.int32), jnp.sum(use, dtype=jnp.int32))

    def at(self, shares: Float[Array, " n"]) -> Int[Array, " n"]:
        """The units at some shares, in [0, 1), of the way through those in use."""
        rank = jnp.floor(shares * self.number).astype(jnp.int32)
        return self.places[jnp.clip(rank, 0, self.number - 1)]

    def evenly(self, n: int) -> Int[Array, " n"]:
        """Units, n of them, evenly spaced among those in use."""
        return self.at((jnp.arange(n) + 0.5) / n)
