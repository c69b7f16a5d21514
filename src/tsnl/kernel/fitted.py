r"""A fitted kernel q(y_t | y_{1:t-1}, theta): an ensemble, the units it works in, and all its facts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from tsnl.kernel.examples import head_rows
from tsnl.kernel.heads.base import Head, Settle
from tsnl.kernel.heads.stack import StackHead
from tsnl.kernel.member import KernelSpec, Member, features_before, fresh_members, has_weights
from tsnl.kernel.memory.base import State, after
from tsnl.kernel.region import Region
from tsnl.kernel.scaling import Scaling
from tsnl.problem.series import as_inputs
from tsnl.runtime.reader import remedy
from tsnl.store import codec, files


class Kernel(eqx.Module):
    """The ensemble's average density, factor by factor.

    Features and states of memories have a leading axis m: one for each member where memories have
    weights, else one for all.

    Attributes:
        members: memories and heads, stacked along a first axis.
        scaling: between the user's units and theirs.
        region: where the rows lie that they learned from.
        spec: what it is of, and what it is made of.
    """

    members: Member
    scaling: Scaling
    region: Region
    spec: KernelSpec = eqx.field(static=True)

    def log_probs(
        self, y: Float[Array, "n d_y"], features: Float[Array, "m n F"], theta: Float[Array, "*n size"]
    ) -> Float[Array, " n"]:
        r"""\(\log \frac1M \sum_m q_m(y \mid \text{features}, \theta)\) of n rows, standardised."""
        log_q = self.each_head(lambda head, c: head.log_probs(y, c, theta), features)
        return jax.nn.logsumexp(log_q, axis=0) - jnp.log(log_q.shape[0])

    def member_log_probs(
        self, y: Float[Array, "n d_y"], features: Float[Array, "m n F"], theta: Float[Array, "*n size"]
    ) -> Float[Array, "M n"]:
        """The log-density of each member at n rows, at one theta or at one for each row.

        Those of a stack are all heads in it.
        """

        def one(head: Head, c: Float[Array, "n F"]) -> Float[Array, "M n"]:
            if isinstance(head, StackHead):
                return head.each_log_prob(y, c, theta)
            return head.log_probs(y, c, theta)[None]

        found = self.each_head(one, features)
        return found.reshape(-1, found.shape[-1])

    @property
    def shares(self) -> Float[Array, " M"]:
        """The weight of each member."""
        head = self.members.head
        if isinstance(head, StackHead):
            return jnp.exp(_without_axis(head).log_shares)
        return jnp.full(self.spec.num_members, 1 / self.spec.num_members)

    def each_head(
        self, call: Callable[[Head, Float[Array, "..."]], Any], features: Float[Array, "m ..."]
    ) -> Any:
        """Call something with each member's head and features; the results have a first axis M."""
        arrays, static = eqx.partition(self.members.head, eqx.is_array)
        axis, given = (0, features) if has_weights(self.members.memory) else (None, features[0])
        return jax.vmap(lambda a, c: call(eqx.combine(a, static), c), in_axes=(0, axis))(arrays, given)

    def _each_memory(self, call: Callable[..., Any], *states: State) -> Any:
        """Call something with each memory and its states; the results have a first axis m."""
        arrays, static = eqx.partition(self.members.memory, eqx.is_array)
        own = has_weights(self.members.memory)
        mapped = jax.vmap(
            lambda a, *s: call(eqx.combine(a, static), *s),
            in_axes=(0 if own else None, *[0] * len(states)),
            axis_size=self.spec.num_members if own else 1,
        )
        return mapped(arrays, *states)

    def sample(
        self, key: Key[Array, ""], features: Float[Array, "m F"], theta: Float[Array, " size"]
    ) -> Float[Array, " d_y"]:
        """Draw a row from the mixture of all members, in standardised units."""
        key_member, key_draw = jax.random.split(key)
        index = jax.random.randint(key_member, (), 0, self.spec.num_members)
        arrays, static = eqx.partition(self.members.head, eqx.is_array)
        head = eqx.combine(jax.tree.map(lambda x: x[index], arrays), static)
        own = features[index if len(features) > 1 else 0]
        return head.samples(key_draw, own[None], theta, self.settle)[0]

    @property
    def settle(self) -> Settle | None:
        """What makes counts whole in standardised rows; None where there are none to be settled."""
        if not self.spec.discrete:
            return None
        return lambda v: self.scaling.standardise(self.restore(v))

    def features(
        self, y: Float[Array, "T d_y"], seen: Bool[Array, "T d_y"], u: Float[Array, "T d_u"]
    ) -> Float[Array, "m T F"]:
        """What the heads see before each row of a standardised series."""
        return self._each_memory(lambda memory: features_before(memory, y, seen, u))

    def targets(self, rows: Float[Array, "*T d_y"]) -> Float[Array, "*T entries"]:
        """What a head takes of rows in the user's units: standardised, and the bins of counts."""
        return head_rows(self.spec, self.scaling, rows)

    def log_jacobian(self, rows: Float[Array, "*T d_y"]) -> Float[Array, "*T d_y"]:
        """Of the change of units, of each entry; a probability has none."""
        found = self.scaling.log_jacobian(rows)
        return jnp.where(np.array(self.spec.integer), 0.0, found) if self.spec.discrete else found

    def restore(self, v: Float[Array, "*T d_y"]) -> Float[Array, "*T d_y"]:
        """Standardised rows in the user's units; counts are whole, and none below the lowest."""
        y = self.scaling.restore(v)
        if not any(self.spec.integer):
            return y
        whole = jnp.maximum(jnp.round(y), self.scaling.low)
        return jnp.where(np.array(self.spec.integer), whole, y)

    def remember(
        self, rows: Float[Array | np.ndarray, "T d_y"], inputs: Float[Array | np.ndarray, "T d_u"]
    ) -> State:
        """The memory after some rows, NaN where missing, in the user's units."""
        return _remember(self, jnp.asarray(rows, dtype=float), jnp.asarray(inputs, dtype=float))

    def push(
        self, memory: State, y: Float[Array, " d_y"], seen: Bool[Array, " d_y"], u: Float[Array, " d_u"]
    ) -> State:
        """The memory after one more standardised row."""
        row = jnp.where(seen, y, 0.0)
        return self._each_memory(lambda one, state: one.push(state, row, seen, u), memory)

    def next_features(self, memory: State, u: Float[Array, " d_u"]) -> Float[Array, "m F"]:
        """What the heads see before the next row, under its standardised inputs."""
        return self._each_memory(lambda one, s: jnp.concatenate([one.features(s), u]), memory)

    def check_series(self, series: Float[np.ndarray, "T columns"]) -> Float[np.ndarray, "rows d_y"]:
        """A series as the kernel sees it.

        Raises:
            ValueError: it does not fit.
        """
        rows = self.spec.rows(series)
        if rows.shape[1] != self.spec.d_y:
            what = "entries in all" if self.spec.whole else "column(s)"
            raise ValueError(f"The series has {rows.shape[1]} {what}, the kernel knows {self.spec.d_y}.")
        if np.isnan(rows).any() and not self.spec.gaps:
            raise ValueError(
                f"The series has missing entries, which this kernel was not trained for: infer with "
                f"{remedy(python='TSNL(gaps=True)', command='tsnl fit --set gaps=true')}."
            )
        return rows

    def check_inputs(
        self, inputs: Any, lengths: list[int]
    ) -> tuple[Float[np.ndarray, "_ d_u"], ...] | None:
        """Known inputs of series of these lengths, as the kernel takes them.

        Raises:
            ValueError: they do not fit, or are there where they should not be.
        """
        d_u = self.spec.d_u
        if inputs is None and d_u == 0:
            return None
        if inputs is None:
            raise ValueError(f"The kernel learned with {d_u} column(s) of inputs: give inputs here too.")
        if d_u == 0:
            raise ValueError(
                "inputs were given, and the kernel learned without: infer(..., inputs=...)."
            )
        known = as_inputs(inputs, lengths)
        if known[0].shape[1] != d_u:
            raise ValueError(f"inputs has {known[0].shape[1]} column(s), the kernel knows {d_u}.")
        return known

    def save(self, path: Path) -> None:
        """Write one safetensors file: the weights, and everything else as JSON in its header."""
        leaves = jax.tree.leaves(eqx.filter(self, eqx.is_array))
        facts = {"spec": codec.encode(self.spec)}
        files.write_tensors(path, {f"{i:04d}": np.asarray(x) for i, x in enumerate(leaves)}, facts)

    @staticmethod
    def load(path: Path) -> "Kernel":
        """Read what `save` wrote.

        Raises:
            ValueError: it is no kernel, or its weights do not fit what it says of itself.
        """
        tensors, facts = files.read_tensors(path)
        try:
            spec = codec.decode(facts["spec"])
            if not isinstance(spec, KernelSpec):
                raise ValueError(f"it holds a {type(spec).__name__}")
            region = Region.unknown(spec.d_y, spec.groups())
            skeleton = eqx.filter_eval_shape(_untrained, spec, region)
        except Exception as error:  # whatever a class makes of arguments that are not its own
            raise ValueError(f"{path.name} is no kernel: {error!r}") from error
        arrays, static = eqx.partition(skeleton, lambda x: isinstance(x, jax.ShapeDtypeStruct))
        places, tree = jax.tree.flatten(arrays)
        leaves = [tensors[name] for name in sorted(tensors)]
        if [x.shape for x in places] != [x.shape for x in leaves]:
            raise ValueError("its weights do not fit its options")
        filled = [jnp.asarray(new, dtype=old.dtype) for old, new in zip(places, leaves, strict=True)]
        return eqx.combine(jax.tree.unflatten(tree, filled), static)


def _without_axis(head: StackHead) -> StackHead:
    """The one head of a kernel that is a stack."""
    one: StackHead = jax.tree.map(lambda x: x[0] if eqx.is_array(x) else x, head)
    return one


def _untrained(spec: KernelSpec, region: Region) -> Kernel:
    """A kernel of the right shapes."""
    members = fresh_members(jax.random.key(0), spec)
    y, z, u = jnp.zeros(spec.d_y), jnp.zeros(spec.size), jnp.zeros(spec.d_u)
    scaling = Scaling(y, y, y, z, z, jnp.zeros(spec.d_y, jnp.int32), u, u, y, jnp.zeros(spec.profile))
    return Kernel(members, scaling, region, spec)


@eqx.filter_jit
def _remember(kernel: Kernel, rows: Float[Array, "T d_y"], inputs: Float[Array, "T d_u"]) -> State:
    seen = ~jnp.isnan(rows)
    y, u = kernel.scaling.standardise(jnp.where(seen, rows, 0.0)), kernel.scaling.standardise_u(inputs)
    return kernel._each_memory(lambda memory: after(memory, y, seen, u))


@eqx.filter_jit
def predict_row(
    kernel: Kernel,
    memory: State,
    row: Float[Array | np.ndarray, " d_y"],
    inputs: Float[Array | np.ndarray, " d_u"],
    time: Int[Array | np.ndarray, ""],
    z: Float[Array | np.ndarray, "n size"],
) -> tuple[Float[Array, " n"], Float[Array, ""], State]:
    """Log-density of a row at every z, its distance from the region, and the memory with it.

    Its time counts from 0.
    """
    scaling, seen = kernel.scaling, ~jnp.isnan(row)
    filled = jnp.where(seen, row, 0.0)
    y, u = (
        scaling.standardise(filled),
        scaling.standardise_u(jnp.asarray(inputs)[None], jnp.asarray(time))[0],
    )
    one = kernel.next_features(memory, u)[:, None]
    features = jnp.broadcast_to(one, (len(one), len(z), one.shape[2]))
    target = kernel.targets(filled)
    log_q = kernel.log_probs(
        jnp.broadcast_to(target, (len(z), len(target))), features, scaling.standardise_z(jnp.asarray(z))
    )
    log_q += jnp.sum(kernel.log_jacobian(filled))
    distance = kernel.region.distance(y[None], one[0], kernel.spec.groups())[0]
    return log_q, distance, kernel.push(memory, y, seen, u)
