r"""What a state-space model is: three laws, each for one particle and one step.

.. math::
    x_0 \sim p_\theta(x_0), \quad
    x_t \sim p_\theta(x_t \mid x_{t-1}), \quad
    y_t \sim p_\theta(y_t \mid x_t), \qquad t = 1, \dots, T.

Batches, time and random keys are somebody else's business: `trajectory` runs the laws along time and
`jax.vmap` over particles or simulations.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, ArrayLike, Float, Int, Key

from tsnl.models.arrays import real_values
from tsnl.runtime.checked import whole_number
from tsnl.runtime.seeds import key_of

Theta = Mapping[str, ArrayLike]
State: TypeAlias = Any  # a pytree of arrays


class StateSpaceModel(eqx.Module):
    """A model is its parameters (fields with a value each) and three laws.

    Subclass it, declare the parameters as fields, write the laws. Fields made with
    `eqx.field(static=True)` are options: they have a value too, but cannot be inferred. In the laws,
    `theta` maps every parameter's name to its value, the inferred ones replaced by the value at hand;
    `t` counts from 1; `u` is row t of the known inputs, None where there are none. A state is any
    pytree of arrays. An observation is a scalar or a vector.

    A model that adds `log_observation(y, state, theta, t, u)`, the log-density of `y`, is `Filterable`.
    One that adds `state_labels`, a name for each entry of its state, has them in tables and pictures.
    """

    can_simulate: ClassVar[bool] = True

    @abstractmethod
    def sample_initial(self, key: Key[Array, ""], theta: Theta) -> State:
        r"""Draw \(x_0 \sim p_\theta(x_0)\)."""

    @abstractmethod
    def sample_transition(
        self, key: Key[Array, ""], state: State, theta: Theta, t: ArrayLike, u: Any
    ) -> State:
        r"""Draw \(x_t \sim p_\theta(x_t \mid x_{t-1})\)."""

    @abstractmethod
    def sample_observation(
        self, key: Key[Array, ""], state: State, theta: Theta, t: ArrayLike, u: Any
    ) -> Array:
        r"""Draw \(y_t \sim p_\theta(y_t \mid x_t)\), of shape () or (d_y,)."""

    @property
    def parameters(self) -> dict[str, Any]:
        """Name to value of everything that can be inferred."""
        names = [f.name for f in fields(self) if not f.metadata.get("static", False)]
        return {name: getattr(self, name) for name in names}

    @property
    def has_density(self) -> bool:
        """Whether its observation density can be evaluated, so that particle filters work on it."""
        return isinstance(self, Filterable)

    def complete(self, theta: Theta | None = None) -> dict[str, Any]:
        """The model's own parameter values with those of `theta` in their place."""
        theta = theta or {}
        parameters = self.parameters
        unknown = sorted(set(theta) - set(parameters))
        if unknown:
            raise ValueError(
                f"{type(self).__name__} has no parameter {unknown}; it has {sorted(parameters)}."
            )
        return {**parameters, **theta}

    def simulate(
        self,
        *,
        seed: int,
        length: int,
        theta: Theta | None = None,
        inputs: ArrayLike | None = None,
        return_states: bool = False,
    ) -> Any:
        """Simulate one series.

        Args:
            seed: one integer; the first rows do not depend on `length`.
            length: number of time steps T.
            theta: values that replace the model's own.
            inputs: known inputs (T,) or (T, d_u), passed to the laws row by row.
            return_states: also return x_1..x_T.

        Returns:
            The series (T, d_y) as a numpy array, or the pair (series, states).
        """
        length = whole_number("length", length, 1)
        if inputs is not None and len(np.asarray(inputs)) != length:
            raise ValueError(
                f"inputs has {len(np.asarray(inputs))} rows, expected {length}: one for each step."
            )
        complete = real_values(self.complete(theta))
        rows = None if inputs is None else jnp.asarray(inputs, dtype=float)
        states, series = _trajectory(key_of(seed), self, complete, length, rows)
        if return_states:
            return np.asarray(series), jax.tree.map(np.asarray, states)
        return np.asarray(series)


@runtime_checkable
class Filterable(Protocol):
    """A model whose observation density can be evaluated: particle filters work on it."""

    def sample_initial(self, key: Key[Array, ""], theta: Theta) -> State: ...  # noqa: D102
    def sample_transition(  # noqa: D102
        self, key: Key[Array, ""], state: State, theta: Theta, t: ArrayLike, u: Any
    ) -> State: ...
    def sample_observation(  # noqa: D102
        self, key: Key[Array, ""], state: State, theta: Theta, t: ArrayLike, u: Any
    ) -> Array: ...
    def log_observation(
        self, y: Array, state: State, theta: Theta, t: ArrayLike, u: Any
    ) -> Float[Array, ""]:
        r"""The log-density \(\log p_\theta(y_t \mid x_t)\)."""
        ...

    def complete(self, theta: Theta | None = None) -> dict[str, Any]: ...  # noqa: D102


def trajectory(
    key: Key[Array, ""], model: StateSpaceModel, theta: Theta, length: int, inputs: Any = None
) -> tuple[State, Float[Array, "T d_y"]]:
    """Run the laws along time: step t draws with `fold_in(key, t)`, so prefixes agree.

    Args:
        key: a JAX random key.
        model: the laws.
        theta: values that replace the model's own.
        length: T.
        inputs: (T,) or (T, d_u), or None.

    Returns:
        States x_1..x_T, leading axis T, and the series (T, d_y).
    """
    _, states, views = observed_trajectory(key, model, theta, length, inputs, 1)
    return states, views[0]


def observed_trajectory(
    key: Key[Array, ""],
    model: StateSpaceModel,
    theta: Theta,
    length: int,
    inputs: Any,
    num_views: int,
) -> tuple[State, State, Float[Array, "views T d_y"]]:
    """One path of states, seen several times: each view has observation noise of its own.

    Returns x_0, then x_1..x_T, then the views. The first view is the series of `trajectory`, whatever
    their number.
    """
    theta = model.complete(theta)

    def step(state: State, now: tuple[Int[Array, ""], Any]) -> tuple[State, tuple[State, Array]]:
        t, u = now
        key_x, key_y = jax.random.split(jax.random.fold_in(key, t))
        state = model.sample_transition(key_x, state, theta, t, u)

        def view(key_view: Key[Array, ""]) -> Array:
            y = jnp.asarray(model.sample_observation(key_view, state, theta, t, u), dtype=float)
            return jnp.atleast_1d(y)

        views = view(key_y)[None]
        if num_views > 1:
            further = jax.vmap(lambda i: view(jax.random.fold_in(key_y, i)))(jnp.arange(1, num_views))
            views = jnp.concatenate([views, further])
        return state, (state, views)

    initial = jax.tree.map(jnp.asarray, model.sample_initial(jax.random.fold_in(key, 0), theta))
    _, (states, views) = jax.lax.scan(step, initial, (jnp.arange(1, length + 1), inputs))
    return initial, states, jnp.swapaxes(views, 0, 1)


def flat_path(initial: State, states: State) -> Float[Array, "times d_x"]:
    """x_0..x_T, the entries of each state in one row."""
    joined = jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]).astype(float), initial, states)
    return jax.vmap(lambda state: ravel_pytree(state)[0])(joined)


_trajectory = eqx.filter_jit(trajectory)


def observation_shape(model: StateSpaceModel, inputs: Any = None) -> tuple[int, ...]:
    """The shape of one observation, () or (d_y,), found without running the laws."""
    parameters, laws = eqx.partition(model, eqx.is_array)
    u = None if inputs is None else np.asarray(inputs, dtype=jnp.result_type(float))[0]
    shape = _observation.eval_shape(laws, parameters, jax.random.key(0), u).shape
    if len(shape) > 1:
        raise ValueError(
            f"{type(model).__name__}.sample_observation returns shape {shape}, expected () or (d_y,)."
        )
    return shape


def num_entries(model: StateSpaceModel) -> int:
    """Entries of a state, found without running the laws."""
    parameters, laws = eqx.partition(model, eqx.is_array)

    def initial(parameters: Any, key: Key[Array, ""]) -> State:
        whole = eqx.combine(parameters, laws)
        return jax.tree.map(jnp.asarray, whole.sample_initial(key, whole.complete()))

    made = jax.eval_shape(initial, parameters, jax.random.key(0))
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(made))


@partial(jax.jit, static_argnums=0)
def _observation(laws: StateSpaceModel, parameters: Any, key: Key[Array, ""], u: Any) -> Array:
    model = eqx.combine(parameters, laws)
    theta = model.complete()
    state = model.sample_transition(key, model.sample_initial(key, theta), theta, 1, u)
    return jnp.asarray(model.sample_observation(key, state, theta, 1, u))
