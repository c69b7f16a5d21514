"""The parts of a prior: one distribution, the names it covers, and its place in the flat vector."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, ArrayLike
from numpyro.distributions import biject_to

Theta = Mapping[str, ArrayLike]
MOST = 1_000_000  # entries of one distribution


@dataclass(frozen=True)
class Site:
    """One distribution and the parameters it covers: several names share one vector."""

    names: tuple[str, ...]
    distribution: dist.Distribution
    entries: np.ndarray  # places of the distinct free entries in the raveled event
    start: int  # of this site's part in z

    @property
    def law(self) -> dist.Distribution:
        """The distribution in the precision at hand: the same prior serves in 32 and in 64 bit.

        The copies matter: JAX may remember a numpy array in the precision that it first saw it in.
        """
        return jax.tree.map(lambda x: jnp.asarray(np.array(x), dtype=float), self.distribution)

    def supports(self, value: Array) -> bool:
        """Whether a known value is inside the support."""
        support: Any = self.law.support
        return bool(jnp.all(support(value)))

    @property
    def bijection(self) -> dist.transforms.Transform:
        """From its part of z to its event."""
        return biject_to(self.law.support)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one draw."""
        return tuple(self.distribution.event_shape)

    @property
    def part(self) -> slice:
        """Where this site is in z."""
        return slice(self.start, self.start + len(self.entries))

    def join(self, theta: Theta) -> Array:
        """The site's event out of the named parameters."""
        if len(self.names) == 1:
            return jnp.asarray(theta[self.names[0]], dtype=float)
        return jnp.stack([jnp.asarray(theta[name], dtype=float) for name in self.names], axis=-1)

    def split(self, value: Array) -> dict[str, Array]:
        """The named parameters out of the site's event."""
        if len(self.names) == 1:
            return {self.names[0]: value}
        return {name: value[..., i] for i, name in enumerate(self.names)}

    def labels(self) -> tuple[str, ...]:
        """A name for each distinct free entry."""
        if len(self.names) > 1:
            return self.names
        if not self.event_shape:
            return self.names
        index = np.stack(np.unravel_index(self.entries, self.event_shape), axis=-1)
        return tuple(f"{self.names[0]}[{','.join(map(str, place))}]" for place in index)

    def take(self, z: ArrayLike) -> Array:
        """This site's part of z, scalar where the bijection acts on scalars."""
        part = jnp.asarray(z, dtype=float)[self.part]
        return part.reshape(self.bijection.inverse_shape(self.event_shape))

    def __str__(self) -> str:
        return ", ".join(self.names)


def make_site(names: tuple[str, ...], distribution: dist.Distribution, start: int) -> Site:
    """Check one distribution and find its bijection and its free entries."""
    shown = ", ".join(names)
    if not isinstance(distribution, dist.Distribution):
        raise TypeError(
            f"The prior of {shown} is {distribution!r}, expected a numpyro distribution such as "
            f"dist.Normal(0, 1). A parameter with a fixed value belongs in the model, not the prior."
        )
    if distribution.is_discrete or isinstance(distribution, dist.Delta):
        raise ValueError(
            f"The prior of {shown} is the discrete {type(distribution).__name__}: only continuous "
            f"parameters can be inferred. Use a continuous prior and round inside the model."
        )
    if isinstance(distribution, dist.ImproperUniform):
        raise ValueError(
            f"The prior of {shown} is improper and cannot be sampled: use a proper distribution, "
            f"for example a wide dist.Normal."
        )
    _check_support(shown, distribution)
    if distribution.batch_shape:
        distribution = distribution.to_event()
    shape = tuple(distribution.event_shape)
    if prod(shape) > MOST:
        raise ValueError(
            f"The prior of {shown} has event shape {shape}, expected at most {MOST:,} entries."
        )
    if len(names) > 1 and shape != (len(names),):
        raise ValueError(
            f"The joint prior of {shown} has event shape {shape}, expected ({len(names)},): one entry "
            f"for each name."
        )
    size = prod(biject_to(distribution.support).inverse_shape(shape))
    entries = np.arange(prod(shape)) if len(names) > 1 else _free_entries(shown, shape, size)
    return Site(names, distribution, entries, start)


def _check_support(shown: str, distribution: dist.Distribution) -> None:
    """Raise ValueError where no value at all is possible, as between 1 and 0."""
    support: Any = distribution.support
    while hasattr(support, "base_constraint"):
        support = support.base_constraint
    low, high = (getattr(support, name, None) for name in ("lower_bound", "upper_bound"))
    if low is None or high is None:
        return
    possible = np.less(np.asarray(low), np.asarray(high))
    if not possible.all():
        ends = np.broadcast_arrays(np.asarray(low), np.asarray(high), possible)
        first = [end[~ends[2]].ravel()[0] for end in ends[:2]]
        raise ValueError(
            f"The prior of {shown} is a {type(distribution).__name__} between {first[0]:g} and "
            f"{first[1]:g}, where there is no value: give it a low end below its high end."
        )


def _free_entries(name: str, shape: tuple[int, ...], size: int) -> np.ndarray:
    """Places of `size` entries that determine an event: all, a triangle, or all but the last."""
    places = np.arange(prod(shape)).reshape(shape)
    if places.size == size:
        return places.ravel()
    if len(shape) == 2 and shape[0] == shape[1]:
        for diagonal in (0, -1):
            lower = places[np.tril_indices(shape[0], diagonal)]
            if lower.size == size:
                return lower
    if len(shape) == 1 and shape[0] == size + 1:
        return places[:-1]
    raise ValueError(
        f"The prior of {name} has event shape {shape} with {size} free entries: no rule for which "
        f"entries are free. Supported: arrays without constraints between entries, covariance and "
        f"correlation matrices and their Cholesky factors, and simplexes."
    )
