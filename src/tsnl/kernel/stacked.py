"""Two kernels as one: mixtures, and networks with recurrent memories beside them.

Both are learned by themselves and then joined, so that whoever has a kernel need not ask how many it is.
"""

from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsnl.kernel.fitted import Kernel
from tsnl.kernel.heads.autoregressive import Autoregressive
from tsnl.kernel.heads.mixture import Mixture
from tsnl.kernel.heads.network import Network
from tsnl.kernel.heads.stack import Stack, StackHead
from tsnl.kernel.member import KernelSpec, Member, with_frame
from tsnl.kernel.memory import Beside, Recurrent


class Part(NamedTuple):
    """One ensemble of a kernel, and the log of its weight."""

    members: Member
    log_weight: Float[Array, ""]


def with_networks(spec: KernelSpec, recurrent: Recurrent, network: Network, count: int) -> KernelSpec:
    """A kernel of mixtures, and so many networks beside them that see what they see, and more."""
    assert isinstance(spec.head, Mixture)
    common = len(spec.groups()) - bool(spec.num_known)
    own = len(replace(spec, memory=(*spec.memory, recurrent)).groups()) - len(spec.groups())
    head = Stack(spec.head, network, (spec.num_members, count), (common, own))
    return replace(spec, head=head, memory=(*spec.memory, *[recurrent] * count), num_members=1)


def parts_of(spec: KernelSpec) -> tuple[KernelSpec, ...]:
    """The kernels that one is made of; itself where it is no stack."""
    head = spec.head
    if not isinstance(head, Stack):
        return (spec,)
    first, second = head.members
    common, own = spec.memory[:-second], spec.memory[-1:]
    return (
        replace(spec, head=head.first, memory=common, num_members=first),
        replace(spec, head=head.second, memory=(*common, *own), num_members=second),
    )


def stacked(
    spec: KernelSpec, first: Kernel, second: Kernel, log_weights: Float[np.ndarray, " 2"]
) -> Kernel:
    """Both as one, in units and a region that are those of the first."""
    memories = second.members.memory
    assert isinstance(memories, Beside)
    count, own = second.spec.num_members, memories.parts[-1]
    each = [
        jax.tree.map(lambda x, i=i: x[i : i + 1] if eqx.is_array(x) else x, own) for i in range(count)
    ]
    memory = Beside((*memories.parts[:-1], *each))
    assert isinstance(spec.head, Stack)
    weights, widths = jnp.asarray(log_weights, dtype=float), spec.head.widths(spec.groups())
    heads = first.members.head, second.members.head
    assert isinstance(heads[0], Autoregressive)
    assert isinstance(heads[1], Autoregressive)
    head = StackHead(heads[0], heads[1], weights, widths)
    head = jax.tree.map(lambda x: x[None] if eqx.is_array(x) else x, head)  # the one member
    members = Member(memory, head, spec.num_known)
    return Kernel(with_frame(eqx.filter(members, eqx.is_array), spec), first.scaling, first.region, spec)


def unstacked(kernel: Kernel) -> tuple[Part, ...]:
    """The ensembles that a kernel is made of."""
    members = kernel.members
    head, memory = members.head, members.memory
    if not isinstance(head, StackHead):
        return (Part(members, jnp.zeros(())),)
    assert isinstance(memory, Beside)
    specs, weights = parts_of(kernel.spec), head.log_weights[0]
    heads = jax.tree.map(lambda x: x[0] if eqx.is_array(x) else x, (head.first, head.second))
    count = specs[1].num_members
    common, own = memory.parts[:-count], memory.parts[-count:]
    arrays, static = zip(*(eqx.partition(one, eqx.is_array) for one in own), strict=True)
    joined = eqx.combine(jax.tree.map(lambda *x: jnp.concatenate(x), *arrays), static[0])
    memories = Beside(common), Beside((*common, joined))
    pairs = zip(memories, heads, weights, strict=True)
    return tuple(Part(Member(m, h, members.d_u), w) for m, h, w in pairs)
