"""The states behind an observed series, with the uncertainty of the parameters in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from tsnl.likelihood.particle import bootstrap, require_filterable, whole_rows
from tsnl.likelihood.paths import Kind, kalman_states, particle_states
from tsnl.models.base import State, StateSpaceModel, Theta
from tsnl.models.linear_gaussian import LinearGaussian
from tsnl.predict.draws import CHUNK, each_draw, without_failed
from tsnl.problem import Problem
from tsnl.problem.times import Times, times_of_text, times_to_text
from tsnl.runtime.checked import check_levels
from tsnl.store.files import read_npz, write_npz

LEVELS = (0.05, 0.5, 0.95)
MEMORY = 2**25  # numbers that the filters of one compiled call may keep


@dataclass(frozen=True)
class States:
    r"""Draws of \(x_{1:T}\), each at its own draw of theta.

    Attributes:
        draws: one column for each entry of a state, whatever its tree.
        labels: of the columns, such as `x[0]`, or the model's `state_labels`.
        kind: "smooth", paths given the whole series, or "filter", x_t given y_1..y_t, step by step. The
            draws of theta have seen the whole series in both.
        times: of the rows, where the data said.
    """

    draws: Float[np.ndarray, "draw T d_x"]
    labels: tuple[str, ...]
    kind: Kind
    times: Times | None = None

    def __getitem__(self, label: str) -> Float[np.ndarray, "draw T"]:
        """The draws of one column."""
        if label not in self.labels:
            raise KeyError(f"There is no state {label!r}; there are {list(self.labels)}.")
        return self.draws[:, :, self.labels.index(label)]

    def mean(self) -> Float[np.ndarray, "T d_x"]:
        """The mean of each state."""
        return self.draws.mean(axis=0)

    def quantiles(self, levels: Sequence[float] = LEVELS) -> Float[np.ndarray, "level T d_x"]:
        """Quantiles of each state."""
        return np.quantile(self.draws, check_levels(levels), axis=0)

    def plot(self, truth: Any = None, path: str | Path | None = None, *, dark: bool = False) -> Any:
        """Bands of every state along time; a matplotlib figure.

        Args:
            truth: states to draw beside them, as `model.simulate(..., return_states=True)` gives them.
            path: where to write the picture.
            dark: on dark paper.
        """
        from tsnl.show.plots import saved, states_figure

        true = None if truth is None else columns(truth, 1)
        return saved(states_figure(self, true, times=self.times, dark=dark), path)

    def save(self, path: str | Path) -> None:
        """Write one npz file."""
        arrays = {"draws": self.draws, "labels": np.array(self.labels), "kind": self.kind}
        write_npz(path, arrays | {"times": times_to_text(self.times)})

    @staticmethod
    def load(path: str | Path) -> "States":
        """Read what `save` wrote."""
        stored = read_npz(path)
        kind: Any = str(stored["kind"])
        times = times_of_text(str(stored.get("times", "")))
        return States(stored["draws"], tuple(stored["labels"].tolist()), kind, times)


def draw_states(
    key: Key[Array, ""], problem: Problem, theta: dict[str, np.ndarray], kind: Kind, num_particles: int
) -> States:
    """A draw of the states for each draw of theta; see `Result.states`."""
    if kind not in ("filter", "smooth"):
        raise ValueError(f"kind is {kind!r}, expected 'filter' or 'smooth'.")
    model = problem.laws
    labels = state_labels(model)
    if isinstance(model, LinearGaussian):
        with jax.enable_x64(True):
            exact = KalmanStates(model, jnp.asarray(problem.series), kind)
            return States(each_draw(key, exact, theta), labels, kind, problem.when)
    rows = filterable_rows(problem, num_particles)
    law = ParticleStates(model, rows, first_inputs(problem), num_particles, kind)
    chunk = MEMORY // (len(rows) * num_particles * (len(labels) + 2))
    found, alive = each_draw(key, law, theta, min(max(chunk, 1), CHUNK))
    return States(without_collapsed(columns(found, 2), alive), labels, kind, problem.when)


class KalmanStates(eqx.Module):
    """An exact draw of the states, given theta."""

    model: LinearGaussian
    rows: Float[Array, "T d_y"]
    kind: Kind = eqx.field(static=True)

    def __call__(self, key: Key[Array, ""], theta: Theta) -> Float[Array, "T d_x"]:
        """Draw them."""
        return kalman_states(key, self.model, theta, self.rows, self.kind)


class ParticleStates(eqx.Module):
    """A draw of the states from a particle filter of its own, given theta."""

    model: StateSpaceModel
    rows: Float[Array, "T ..."]
    inputs: Float[Array, "T d_u"] | None
    num_particles: int = eqx.field(static=True)
    kind: Kind = eqx.field(static=True)

    def __call__(self, key: Key[Array, ""], theta: Theta) -> tuple[State, Bool[Array, ""]]:
        """Draw them; and whether the filter kept particles to the end."""
        key_filter, key_draw = jax.random.split(key)
        model = require_filterable(self.model)
        found = bootstrap(
            key_filter, model, theta, self.rows, self.num_particles, self.inputs, keep_history=True
        )
        assert found.history is not None
        return particle_states(key_draw, found.history, self.kind), found.log_likelihood > -jnp.inf


def filterable_rows(problem: Problem, num_particles: int) -> Float[Array, "T ..."]:
    """The series as a particle filter takes it.

    Raises:
        TypeError: the model has no `log_observation`.
        ValueError: a row is missing in part, or there are no particles.
    """
    require_filterable(problem.laws)
    if num_particles < 1:
        raise ValueError(f"num_particles is {num_particles}, expected at least 1.")
    return whole_rows(problem.laws, problem.series, first_inputs(problem))


def first_inputs(problem: Problem) -> Float[Array, "T d_u"] | None:
    """The inputs of the one series as the laws take them."""
    return None if problem.inputs is None else jnp.asarray(problem.inputs[0], dtype=float)


def without_collapsed(values: np.ndarray, alive: Bool[np.ndarray, " draw"]) -> np.ndarray:
    """The draws whose filters kept particles to the end."""
    return without_failed(
        values,
        alive,
        "particle filters lost all their particles",
        "an observation was too far from what the model expects at that theta. More particles may help.",
    )


def columns(states: State, num_leading: int) -> Float[np.ndarray, "*leading d_x"]:
    """States as one array: all entries of their tree beside each other, after the leading axes."""
    leaves = [np.asarray(leaf, dtype=float) for leaf in jax.tree.leaves(states)]
    flat = [leaf.reshape(*leaf.shape[:num_leading], -1) for leaf in leaves]
    return np.concatenate(flat, axis=-1)


def state_labels(model: StateSpaceModel) -> tuple[str, ...]:
    """The model's own `state_labels`, or a name for each entry of a state by its place in the tree."""
    own = getattr(model, "state_labels", None)
    if own is not None:
        return tuple(own)
    state = jax.eval_shape(lambda key: model.sample_initial(key, model.complete()), jax.random.key(0))
    labels: list[str] = []
    for place, leaf in jax.tree_util.tree_flatten_with_path(state)[0]:
        name = jax.tree_util.keystr(place, simple=True, separator=".") or "x"
        entries = [",".join(map(str, index)) for index in np.ndindex(leaf.shape)]
        labels += [f"{name}[{entry}]" if entry else name for entry in entries]
    return tuple(labels)
