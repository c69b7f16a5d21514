"""What a memory is, and how it goes along a series. All values are in standardised units."""

from abc import abstractmethod
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key, PyTree

State: TypeAlias = PyTree  # of arrays, of fixed shapes
USUAL = (0.5, 0.3)  # prior sds of weights, where a memory says nothing of its features


class Group(NamedTuple):
    """Features of one kind: their weights in a head have a prior with one common, unknown, scale.

    Attributes:
        mean_sd: prior sd of each feature's weight in the mean of y.
        scale_sd: in the log-scale of y.
        located: whether they tell where rows lie: marks of what is absent and units of a network do not.
        columns: the column of y that each feature is of; none where they are of no column. A column's
            own past and that of the others have weights of different sizes.
    """

    mean_sd: tuple[float, ...]
    scale_sd: tuple[float, ...]
    located: bool = True
    columns: tuple[int, ...] = ()

    @staticmethod
    def of(
        sds: tuple[float, float], sizes: np.ndarray, located: bool = True, num_columns: int = 0
    ) -> "Group":
        """Prior sds in mean and log-scale, each feature's over the first's.

        Args:
            sds: of the first.
            sizes: of each over the first's.
            located: whether they tell where rows lie.
            num_columns: columns of y that the features are of in turn, where they are of columns.
        """
        mean_sd, scale_sd = ((sd * sizes).tolist() for sd in sds)
        columns = (np.arange(len(sizes)) % num_columns).tolist() if num_columns else ()
        return Group(tuple(mean_sd), tuple(scale_sd), located, tuple(columns))

    def is_of_others(self, d_y: int) -> Bool[np.ndarray, "d_y n"]:
        """For each column of y, which features are of other columns."""
        if not self.columns:
            return np.zeros((d_y, len(self.mean_sd)), dtype=bool)
        return np.array(self.columns) != np.arange(d_y)[:, None]


class Memory(eqx.Module):
    """A recursion along a series. Arrays among its fields are weights, trained with the head's."""

    @abstractmethod
    def init(self) -> State:
        """Before the first row."""

    @abstractmethod
    def push(
        self, state: State, y: Float[Array, " d_y"], seen: Bool[Array, " d_y"], u: Float[Array, " d_u"]
    ) -> State:
        """After one more row under its inputs; entries that are not seen are zero."""

    @abstractmethod
    def features(self, state: State) -> Float[Array, " F"]:
        """What a head sees of the state, each entry of about unit size."""

    def along(
        self,
        y: Float[Array, "T d_y"],
        seen: Bool[Array, "T d_y"],
        u: Float[Array, "T d_u"],
    ) -> Float[Array, "T F"]:
        """Features of the rows before t, for t = 1..T; entries that are not seen are zero."""

        def step(state: State, now: tuple[Array, Array, Array]) -> tuple[State, State]:
            return self.push(state, *now), state

        _, before = jax.lax.scan(step, self.init(), (y, seen, u))
        return jax.vmap(self.features, axis_size=len(y))(before)

    def groups(self) -> tuple[Group, ...]:
        """The kinds of features, in their order."""
        (count,) = jax.eval_shape(lambda: self.features(self.init())).shape
        return (Group.of(USUAL, np.ones(count)),) if count else ()


@runtime_checkable
class MemoryFamily(Protocol):
    """Options of a memory, and how to make one."""

    def make(self, key: Key[Array, ""], d_y: int, d_u: int) -> Memory:
        """A fresh memory for rows of d_y entries under d_u inputs."""
        ...


class Beside(Memory):
    """Several memories side by side; none at all is a memory too, without features."""

    parts: tuple[Memory, ...]

    def init(self) -> State:
        """Of each."""
        return tuple(part.init() for part in self.parts)

    def push(
        self, state: State, y: Float[Array, " d_y"], seen: Bool[Array, " d_y"], u: Float[Array, " d_u"]
    ) -> State:
        """Of each."""
        return tuple(p.push(s, y, seen, u) for p, s in zip(self.parts, state, strict=True))

    def along(
        self,
        y: Float[Array, "T d_y"],
        seen: Bool[Array, "T d_y"],
        u: Float[Array, "T d_u"],
    ) -> Float[Array, "T F"]:
        """One after the other."""
        found = [part.along(y, seen, u) for part in self.parts]
        return jnp.concatenate(found, axis=1) if found else y[:, :0]

    def features(self, state: State) -> Float[Array, " F"]:
        """One after the other."""
        found = [p.features(s) for p, s in zip(self.parts, state, strict=True)]
        return jnp.concatenate(found) if found else jnp.zeros(0)

    def groups(self) -> tuple[Group, ...]:
        """One after the other."""
        return tuple(group for part in self.parts for group in part.groups())


def along(
    memory: Memory,
    y: Float[Array, "T d_y"],
    seen: Bool[Array, "T d_y"],
    u: Float[Array, "T d_u"],
) -> Float[Array, "T F"]:
    """Features of the rows before t, for t = 1..T."""
    return memory.along(jnp.where(seen, y, 0.0), seen, u)


def after(
    memory: Memory,
    y: Float[Array, "T d_y"],
    seen: Bool[Array, "T d_y"],
    u: Float[Array, "T d_u"],
) -> State:
    """The state after all rows."""
    rows = (jnp.where(seen, y, 0.0), seen, u)
    return jax.lax.scan(lambda s, now: (memory.push(s, *now), None), memory.init(), rows)[0]
