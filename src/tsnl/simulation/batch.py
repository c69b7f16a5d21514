"""The one way from a batch of theta to a batch of series."""

from collections import deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from tsnl.models.base import StateSpaceModel, flat_path, observed_trajectory
from tsnl.simulation.blackbox import BlackBox, HostSimulator
from tsnl.simulation.chunk import Chunk, Failure, Store, Task
from tsnl.simulation.dispatch import finished
from tsnl.simulation.limit import Limit
from tsnl.simulation.table import Table

# Series simulated by one compiled call; a shorter batch is filled up. One size for all, because the
# last bit of a float may depend on how a compiler vectorises a loop, and so on its length.
CHUNK = 64
IN_FLIGHT = 4  # chunks that may be computed side by side

Simulator = StateSpaceModel | HostSimulator | Table


@dataclass(frozen=True)
class Simulations:
    """Simulated series with the parameters they came from.

    Attributes:
        theta: name to array (n, *event).
        series: (n, T, d_y); a failed series is NaN from the step where it failed.
        cost: calls of the dynamics p(x_t | x_{t-1}), T for each series.
        failures: number and reason of each simulation that failed.
        views: further series of the same paths of states, where some were asked for; they cost nothing,
            since the dynamics are not called again.
        states: x_0..x_T of each, one row a state, where they were asked for.
    """

    theta: dict[str, np.ndarray]
    series: Float[np.ndarray, "n T d_y"]
    cost: int
    failures: tuple[Failure, ...] = ()
    views: Float[np.ndarray, "n views T d_y"] | None = None
    states: Float[np.ndarray, "n times d_x"] | None = None

    @property
    def num_failed(self) -> int:
        """How many series did not reach their end."""
        return len(self.failures)


def as_simulator(model: Any) -> Simulator:
    """A simulator of any kind; a bare function becomes a `BlackBox`.

    Raises:
        TypeError: it is none.
    """
    if isinstance(model, Simulator):
        return model
    if callable(model) and not isinstance(model, type):
        return BlackBox(model)
    raise TypeError(
        f"model is a {type(model).__name__}, expected a tsnl.StateSpaceModel (subclass it and write "
        f"sample_initial, sample_transition and sample_observation), a function (rng, theta) -> series, "
        f"a tsnl.BlackBox, a tsnl.Program or a tsnl.Table."
    )


def simulate(
    key: Key[Array, ""],
    model: Any,
    theta: Mapping[str, Any],
    length: int,
    *,
    inputs: Any = None,
    first: int = 0,
    num_columns: int | None = None,
    store: Store | None = None,
    num_views: int = 1,
    keep_states: bool = False,
) -> Simulations:
    """Simulate one series for each row of theta.

    Simulation i draws with `fold_in(key, first + i)`, or from a NumPy generator that depends on the key
    and on first + i alone: its values depend neither on the size of the batch, nor on which call or
    which worker made it.

    Args:
        key: the key of the whole run.
        model: the laws, or another simulator.
        theta: name to array (n, *event), the parameters that replace the model's own.
        length: T.
        inputs: known inputs (T,) or (T, d_u) common to all series, or (n, T, d_u), of each its own.
        first: number of the first simulation of this batch.
        num_columns: d_y of a black box; None takes what it returns.
        store: where finished chunks are kept, and looked for before they are simulated.
        num_views: series to observe each path of states by, of a model whose laws are known.
        keep_states: whether to return the states of such a model too.

    Raises:
        TooManyFailuresError: more simulations of a black box failed than its `max_failures` allows.
    """
    model = as_simulator(model)
    if isinstance(model, Table):
        raise TypeError(
            "A tsnl.Table has no simulator to call: infer from it by TSNL or SNL, and leave out what "
            "simulates anew."
        )
    whole = _whole(theta, length, inputs, first)
    size = model.chunk if isinstance(model, HostSimulator) else CHUNK
    tasks = whole.split(size)
    chunks = {} if store is None else _kept(store, tasks)
    missing = [task for task in tasks if task.first not in chunks]
    limit = Limit(getattr(model, "max_failures", 1.0), first, whole.count)
    for chunk in chunks.values():
        limit.add(chunk)
    if isinstance(model, HostSimulator):
        entropy = tuple(np.asarray(jax.random.key_data(key)).ravel().tolist())
        made = finished(model, entropy, missing, length, num_columns)
    else:
        made = _by_laws(key, model, missing, length, num_views, keep_states)
    with closing(made):  # after an error nothing more is started
        for chunk in made:
            if store is not None:
                store.put(chunk.first, chunk)
            chunks[chunk.first] = chunk
            limit.add(chunk)
    joined = Chunk.join(list(chunks.values()))
    extra = (joined.views, joined.states)
    return Simulations(whole.theta, joined.series, whole.count * length, joined.failures, *extra)


def _whole(theta: Mapping[str, Any], length: int, inputs: Any, first: int) -> Task:
    """All simulations of a batch, checked."""
    if not theta:
        raise ValueError("theta is empty: give at least one parameter with a leading batch axis.")
    arrays = {name: np.asarray(value) for name, value in theta.items()}
    counts = {name: value.shape[:1] for name, value in arrays.items()}
    if () in counts.values() or len(set(counts.values())) != 1:
        raise ValueError(f"theta has the leading axes {counts}: expected one common batch axis.")
    (n,) = next(iter(counts.values()))
    if n < 1 or length < 1:
        raise ValueError(f"{n} simulations of length {length}: both must be at least 1.")
    rows = None if inputs is None else np.asarray(inputs, dtype=np.float64)
    if rows is not None and rows.ndim < 3:
        rows = np.broadcast_to(rows, (n, *rows.shape))
    return Task(first, arrays, rows)


def _kept(store: Store, tasks: Sequence[Task]) -> dict[int, Chunk]:
    """The chunks that there are already.

    Raises:
        ValueError: one of other parameters.
    """
    found = {}
    for task in tasks:
        chunk = store.get(task.first, task.count)
        if chunk is None:
            continue
        same = set(chunk.theta) == set(task.theta) and all(
            np.array_equal(chunk.theta[name], value) for name, value in task.theta.items()
        )
        if not same or chunk.count != task.count:
            raise ValueError(
                f"The stored simulations from number {task.first} on are of other parameters: they "
                f"belong to another run. Start in a new folder."
            )
        found[task.first] = chunk
    return found


def _by_laws(
    key: Key[Array, ""],
    model: StateSpaceModel,
    tasks: Sequence[Task],
    length: int,
    num_views: int,
    keep_states: bool,
) -> Generator[Chunk, None, None]:
    """The chunk of each task, in order; several run side by side, few enough to bound the memory."""
    running: deque[tuple[Task, tuple[Array, Array | None]]] = deque()

    def next_() -> Chunk:
        task, found = running.popleft()
        views = np.asarray(found[0])[: task.count]
        states = None if found[1] is None else np.asarray(found[1])[: task.count]
        return Chunk.of(task, views[:, 0], (), views[:, 1:] if num_views > 1 else None, states)

    for task in tasks:
        rows = np.minimum(np.arange(CHUNK), task.count - 1)
        theta: Any = {name: value[rows] for name, value in task.theta.items()}
        index: Any = task.first + rows
        u = None if task.inputs is None else jnp.asarray(task.inputs[rows], dtype=float)
        running.append((task, _chunk(key, model, theta, index, length, u, num_views, keep_states)))
        if len(running) > IN_FLIGHT:
            yield next_()
    while running:
        yield next_()


@eqx.filter_jit
def _chunk(
    key: Key[Array, ""],
    model: StateSpaceModel,
    theta: dict[str, Array],
    index: Int[Array, " n"],
    length: int,
    inputs: Float[Array, "n T ..."] | None,
    num_views: int,
    keep_states: bool,
) -> tuple[Float[Array, "n views T d_y"], Float[Array, "n times d_x"] | None]:
    def one(i: Array, row: dict[str, Array], u: Any) -> tuple[Array, Array | None]:
        *path, views = observed_trajectory(jax.random.fold_in(key, i), model, row, length, u, num_views)
        return views, flat_path(*path) if keep_states else None

    return jax.vmap(one)(index, jax.tree.map(jnp.asarray, theta), inputs)
