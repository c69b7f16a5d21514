"""The question: a simulator, a prior and observed series that fit together."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.models.base import StateSpaceModel, observation_shape
from tsnl.problem.columns import shown_names
from tsnl.problem.prior import Prior
from tsnl.problem.series import as_inputs, as_panel, as_rows, same_times
from tsnl.problem.times import Times
from tsnl.runtime.reader import remedy
from tsnl.simulation import Simulations, Store, Table, as_simulator, simulate
from tsnl.simulation.batch import Simulator


@dataclass(frozen=True)
class Problem:
    """A simulator, a prior over some of its parameters, and what was observed.

    Attributes:
        model: the simulator.
        prior: over some of its parameters.
        panel: the observed series, independent given theta, NaN where missing; most often one.
        inputs: the known inputs of each, None where there are none.
        columns: names of the columns, where the data brought some.
        times: of the rows of each series, where the data said; none at all where none did.
        store: where the simulations of a run are kept as they finish; None keeps them in memory alone.
    """

    model: Simulator
    prior: Prior
    panel: tuple[Float[np.ndarray, "_ d_y"], ...]
    inputs: tuple[Float[np.ndarray, "_ d_u"], ...] | None = None
    columns: tuple[str, ...] = ()
    times: tuple[Times | None, ...] = ()
    store: Store | None = field(default=None, compare=False, repr=False)

    @staticmethod
    def of(model: Any, prior: Any, series: Any, inputs: Any = None) -> "Problem":
        """Check that everything fits together.

        Args:
            model: a `tsnl.StateSpaceModel`, a function, a `tsnl.BlackBox`, `Program` or `Table`.
            prior: a `tsnl.Prior`.
            series: (T,) or (T, d_y), anything that `tsnl.as_series` takes; or a list of such series.
            inputs: known inputs (T,) or (T, d_u), or a list of them, one for each series.

        Raises:
            TypeError, ValueError: what does not fit, and the remedy.
        """
        model = as_simulator(model)
        if not isinstance(prior, Prior):
            raise TypeError(
                f"prior is a {type(prior).__name__}, expected tsnl.Prior(name=distribution, ...)."
            )
        given = as_panel(series)
        if inputs is not None:
            same_times(given, inputs)
        known = None if inputs is None else as_inputs(inputs, [len(one) for one in given])
        num_columns = given[0].shape[1]
        if isinstance(model, StateSpaceModel):
            prior.check_known(model.parameters)
            shape = observation_shape(model, None if known is None else known[0])
            num_columns = shape[0] if shape else 1
        panel = tuple(as_rows(one, num_columns=num_columns) for one in given)
        columns, times = given[0].columns, tuple(one.times for one in given)
        for one in panel:
            _check_varies(one, shown_names(columns, num_columns))
        if isinstance(model, Table):
            _check_table(model, prior, max(len(one) for one in panel), num_columns)
        return Problem(model, prior, panel, known, columns, times if any(times) else ())

    @property
    def names(self) -> tuple[str, ...]:
        """A name to show for each column."""
        return shown_names(self.columns, self.d_y)

    @property
    def series(self) -> Float[np.ndarray, "T d_y"]:
        """The one observed series.

        Raises:
            ValueError: there are several.
        """
        if len(self.panel) > 1:
            raise ValueError(
                f"There are {len(self.panel)} observed series, and this works on one: choose it with "
                f"result.one(i)."
            )
        return self.panel[0]

    @property
    def laws(self) -> StateSpaceModel:
        """The model, known to have laws.

        Raises:
            TypeError: it only gives series.
        """
        if isinstance(self.model, StateSpaceModel):
            return self.model
        by_kernel = remedy(python="source='kernel'", command="--source kernel")
        raise TypeError(
            f"A {type(self.model).__name__} only gives series: it has no laws by which states could be "
            f"filtered. Infer by TSNL or another method that only simulates, and forecast with "
            f"{by_kernel}; or write the model as a tsnl.StateSpaceModel with log_observation."
        )

    @property
    def length(self) -> int:
        """Number of rows T of the longest observed series, and so of every simulated one."""
        return max(len(one) for one in self.panel)

    @property
    def d_y(self) -> int:
        """Columns of a series."""
        return self.panel[0].shape[1]

    def one(self, index: int) -> "Problem":
        """The question that one of the series poses."""
        inputs = None if self.inputs is None else (self.inputs[index],)
        times = (self.times[index],) if self.times else ()
        return replace(self, panel=(self.panel[index],), inputs=inputs, times=times)

    @property
    def when(self) -> Times | None:
        """When the rows of the one series were; None where nobody said, or there are several."""
        return self.times[0] if len(self.times) == 1 else None

    @property
    def d_u(self) -> int:
        """Columns of the inputs, 0 where there are none."""
        return 0 if self.inputs is None else self.inputs[0].shape[1]

    def all_inputs(self, first: int, n: int) -> Float[np.ndarray, "n T d_u"]:
        """The inputs that n simulations run under: those of the observed series, in turn.

        The last row is repeated where a series is shorter than the longest.
        """
        if self.inputs is None:
            return np.zeros((n, self.length, 0))
        padded = [np.pad(one, ((0, self.length - len(one)), (0, 0)), mode="edge") for one in self.inputs]
        return np.stack(padded)[(first + np.arange(n)) % len(padded)]

    def simulate(
        self,
        key: Key[Array, ""],
        theta: dict[str, np.ndarray],
        first: int = 0,
        num_views: int = 1,
        keep_states: bool = False,
    ) -> Simulations:
        """One series for each row of theta; the only way from a method to the simulator.

        Args:
            key: the key of all simulations of a run.
            theta: name to array (n, *event).
            first: number of the first of them in the run.
            num_views: series to observe each path of states by (see `simulate`).
            keep_states: whether to return its states too.
        """
        run = partial(simulate, key, self.model, theta, self.length, first=first, store=self.store)
        run = partial(run, num_columns=self.d_y, num_views=num_views, keep_states=keep_states)
        if self.inputs is None:
            return run()
        n = len(next(iter(theta.values())))
        return run(inputs=self.all_inputs(first, n))


def _check_varies(series: Float[np.ndarray, "T d_y"], names: tuple[str, ...]) -> None:
    low, high = np.fmin.reduce(series), np.fmax.reduce(series)  # NaN left out
    if len(series) > 1 and (low == high).any():
        column = int(np.argmax(low == high))
        raise ValueError(
            f"Column {names[column]} of the series is constant at {low[column]}: a dynamic model "
            f"has nothing to explain in it. Check the data."
        )


def _check_table(table: Table, prior: Prior, length: int, num_columns: int) -> None:
    """Raise ValueError where a table does not fit the prior or the observed series."""
    if set(table.theta) != set(prior.names):
        raise ValueError(
            f"The table has the parameters {sorted(table.theta)}, the prior {sorted(prior.names)}: they "
            f"must be the same."
        )
    if table.series.shape[1:] != (length, num_columns):
        raise ValueError(
            f"The table's series have shape {table.series.shape[1:]}, the observed one "
            f"{(length, num_columns)}: they must be the same."
        )
    prior.unconstrain_all(dict(table.theta))
