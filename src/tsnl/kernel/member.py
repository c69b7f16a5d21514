r"""What a kernel is made of: a memory and a head, several of them in an ensemble.

A spec says everything about a kernel but its weights and its units, so that whoever has a kernel need
not ask the method or the problem how it was made.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from tsnl.kernel.heads.base import CountsFamily, Groups, Head, HeadFamily, StartsFromRows
from tsnl.kernel.memory.base import Beside, Group, Memory, MemoryFamily, along
from tsnl.kernel.memory.lags import INPUT, Lags
from tsnl.store.registry import register


@register
@dataclass(frozen=True)
class KernelSpec:
    """What a kernel is of, and what it is made of.

    Attributes:
        head: the family of densities.
        memory: what is kept of the past, side by side.
        d_y: entries of a row.
        d_u: columns of known inputs.
        size: number of parameters.
        num_members: densities in the ensemble.
        whole: whether a series is one row of T d_y entries, as in SNL, or T rows.
        integer: which entries of a row are integer-valued; none where it is empty.
        gaps: whether it learned from pasts with entries missing.
        profile: rows and columns of the profile of all series along time, none where it is (0, 0).
    """

    head: HeadFamily
    memory: tuple[MemoryFamily, ...]
    d_y: int
    d_u: int
    size: int
    num_members: int
    whole: bool = False
    integer: tuple[bool, ...] = ()
    gaps: bool = False
    profile: tuple[int, int] = (0, 0)

    @property
    def num_known(self) -> int:
        """What is known of a row before it: columns of inputs, and of the profile."""
        return self.d_u + self.profile[1]

    @property
    def discrete(self) -> bool:
        """Whether the head gives probabilities of counts; else they get uniform noise in training."""
        return any(self.integer) and isinstance(self.head, CountsFamily)

    @property
    def lag(self) -> int:
        """Rows of the past that the kernel sees one by one."""
        return max((part.lag for part in self.memory if isinstance(part, Lags)), default=0)

    def rows(self, series: Float[np.ndarray, "*N T columns"]) -> Float[np.ndarray, "*N rows entries"]:
        """Series as the kernel sees them: row by row, or each as one row."""
        return series.reshape(*series.shape[:-2], 1, -1) if self.whole else series

    def groups(self) -> Groups:
        """Kinds of features that a head sees."""
        return _prototype(self)[1]


class Member(eqx.Module):
    """One member of the ensemble: what it remembers, and what it expects of the next row."""

    memory: Memory
    head: Head
    d_u: int = eqx.field(static=True)

    def groups(self) -> Groups:
        """Those of the memory, and the inputs of the row itself."""
        return _all_groups(self.memory, self.d_u)

    def features(
        self, y: Float[Array, "T d_y"], seen: Bool[Array, "T d_y"], u: Float[Array, "T d_u"]
    ) -> Float[Array, "T F"]:
        """What the head sees before each row of a standardised series."""
        return features_before(self.memory, y, seen, u)


def features_before(
    memory: Memory,
    y: Float[Array, "T d_y"],
    seen: Bool[Array, "T d_y"],
    u: Float[Array, "T d_u"],
) -> Float[Array, "T F"]:
    """A memory's features before each row, and the inputs of the row itself."""
    return jnp.concatenate([along(memory, y, seen, u), u], axis=1)


def _all_groups(memory: Memory, d_u: int) -> Groups:
    own = (Group.of(INPUT, np.ones(d_u)),) if d_u else ()
    return (*memory.groups(), *own)


def fresh_members(key: Key[Array, ""], spec: KernelSpec) -> Member:
    """Untrained members, stacked along a first axis."""
    keys = jax.random.split(key, spec.num_members)
    fresh = eqx.filter_vmap(lambda k: _make(k, spec))(keys)
    return with_frame(eqx.filter(fresh, eqx.is_array), spec)


def first_of(members: Member) -> Member:
    """The first of stacked members."""
    arrays, static = eqx.partition(members, eqx.is_array)
    return eqx.combine(jax.tree.map(lambda x: x[0], arrays), static)


def fresh_head(key: Key[Array, ""], spec: KernelSpec) -> Head:
    """One untrained head."""
    return _make(key, spec).head


def with_frame(arrays: Member, spec: KernelSpec) -> Member:
    """Members from their arrays.

    What is no array is the same object each time: flowjax makes new functions for every flow, and a
    program for one would be compiled anew for the next.
    """
    return eqx.combine(arrays, _prototype(spec)[0])


@lru_cache(maxsize=64)
def _prototype(spec: KernelSpec) -> tuple[Member, Groups]:
    """All of a member but its arrays, and the groups of its features.

    To be made before a program that needs it is traced: the functions in a flow would hold on to what
    is traced. Families without such functions are made in a program anyway, and nothing is drawn here.
    """

    def make() -> tuple[Member, Groups]:
        member = _make(jax.random.key(0), spec)
        return member, member.groups()

    member, groups = eqx.filter_eval_shape(make) if starts_shaped(spec) else make()
    return eqx.filter(member, _is_shaped, inverse=True), groups


def starts_shaped(spec: KernelSpec) -> bool:
    """Whether fresh members can be made in a program: their family has no functions made for each."""
    return isinstance(spec.head, StartsFromRows | CountsFamily)


def _is_shaped(x: Any) -> bool:
    """Whether it is an array, or what will be one."""
    return eqx.is_array(x) or isinstance(x, jax.ShapeDtypeStruct)


def _make(key: Key[Array, ""], spec: KernelSpec) -> Member:
    """One member."""
    keys = jax.random.split(jax.random.fold_in(key, 1), max(len(spec.memory), 1))
    parts = (one.make(k, spec.d_y, spec.num_known) for one, k in zip(spec.memory, keys, strict=False))
    memory = Beside(tuple(parts))
    shape = (spec.d_y, _all_groups(memory, spec.num_known), spec.size)
    if any(spec.integer) and isinstance(spec.head, CountsFamily):
        return Member(memory, spec.head.make_counts(key, *shape, spec.integer), spec.num_known)
    head = spec.head.make(key, *shape)
    return Member(memory, head, spec.num_known)


def has_weights(memory: Memory) -> bool:
    """Whether a memory has arrays of its own: then each member has its own features."""
    return bool(jax.tree.leaves(eqx.filter(memory, eqx.is_array)))
