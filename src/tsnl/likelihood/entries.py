"""The entries of a state in one row, and back."""

import math
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.models.base import State, Theta


@runtime_checkable
class HasInitial(Protocol):
    """A model as far as its first state goes."""

    def sample_initial(self, key: Key[Array, ""], theta: Theta) -> State: ...  # noqa: D102


class Entries(NamedTuple):
    """How the entries of a state lie in one row, leaf by leaf."""

    tree: Any
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[Any, ...]

    @staticmethod
    def of(model: HasInitial, theta: Theta) -> "Entries":
        """Of the states of a model, found without running its laws."""
        made = jax.eval_shape(lambda key: initial_state(model, key, theta), jax.random.key(0))
        leaves, tree = jax.tree.flatten(made)
        return Entries(tree, tuple(x.shape for x in leaves), tuple(x.dtype for x in leaves))

    def state(self, row: Float[Array, " d_x"]) -> State:
        """A row as the model takes it."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])[:-1]
        parts = zip(jnp.split(row, ends), self.shapes, self.dtypes, strict=True)
        leaves = [
            part.reshape(shape).astype(dtype)
            if jnp.issubdtype(dtype, jnp.floating)
            else jnp.round(part).reshape(shape).astype(dtype)
            for part, shape, dtype in parts
        ]
        return jax.tree.unflatten(self.tree, leaves)


def initial_state(model: HasInitial, key: Key[Array, ""], theta: Theta) -> State:
    """One draw of x_0, its leaves as arrays."""
    return jax.tree.map(jnp.asarray, model.sample_initial(key, theta))
