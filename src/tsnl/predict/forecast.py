r"""What comes after the end of an observed series, with the uncertainty of the parameters in it.

.. math::
    p(y_{T+1:T+h} \mid y_{1:T}) = \int p(y_{T+1:T+h} \mid y_{1:T}, \theta) \, p(\theta \mid y_{1:T})
    \, d\theta,

one future for each draw of theta: by the learned kernel, or by the model's laws from a filtered state.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.evaluate.metrics.forecasts import crps, energy_score, inside
from tsnl.kernel import Kernel
from tsnl.predict.futures import kernel_futures, simulator_futures
from tsnl.predict.states import LEVELS
from tsnl.problem import Problem
from tsnl.problem.columns import shown_names
from tsnl.problem.series import as_inputs, as_rows, as_series
from tsnl.problem.times import Times, times_of_text, times_to_text
from tsnl.runtime import html
from tsnl.runtime.checked import check_levels, whole_number
from tsnl.runtime.reader import remedy
from tsnl.runtime.table import Table
from tsnl.store.files import read_npz, write_npz

Source = Literal["kernel", "simulator"]
TABLED = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_SHOWN = 20  # rows at a prompt or in a notebook


class Scores(NamedTuple):
    """How good a forecast was; NaN where nothing was observed.

    Attributes:
        crps: continuous ranked probability score of each step and column, in the units of y; less is
            better.
        energy: energy score of each step, all columns together.
        coverage: level to the share of held-out values inside the central band of that level.
    """

    crps: Float[np.ndarray, "steps d_y"]
    energy: Float[np.ndarray, " steps"]
    coverage: dict[float, float]


@dataclass(frozen=True)
class Forecast:
    """Draws of the rows that follow a series.

    Attributes:
        draws: one future for each draw of theta.
        series: the observed rows before them.
        source: "kernel" or "simulator".
        columns: names of the columns, where the data brought some.
        times: of the rows, from the first observed one on, where the data said.
    """

    draws: Float[np.ndarray, "draw horizon d_y"]
    series: Float[np.ndarray, "T d_y"]
    source: Source
    columns: tuple[str, ...] = ()
    times: Times | None = None

    @property
    def dates(self) -> list[str]:
        """The times of the rows to come, as text; none where the series has none."""
        after = len(self.series) + np.arange(self.draws.shape[1])
        return [] if self.times is None else self.times.text(after)

    def table(self) -> Table:
        """A row for each step and column, with mean and quantiles."""
        mean, quantiles, dates = self.mean(), self.quantiles(TABLED), self.dates
        names = shown_names(self.columns, mean.shape[1])
        head = ["t", *(["time"] if dates else []), "column", "mean"]
        rows = []
        for i, j in np.ndindex(mean.shape):
            values = [f"{value:.6g}" for value in (mean[i, j], *quantiles[:, i, j])]
            rows.append([str(len(self.series) + 1 + i), *dates[i : i + 1], names[j], *values])
        return Table("Forecast", [*head, *(f"q{100 * level:02.0f}" for level in TABLED)], rows)

    def _shown(self) -> tuple[str, Table, str]:
        """A heading, the first rows of the table, and how many more there are."""
        table = self.table()
        count = len(table.rows)
        more = f"{count - MOST_SHOWN:,} more rows." if count > MOST_SHOWN else ""
        heading = f"Forecast of {self.draws.shape[1]:,} rows by the {self.source}"
        return heading, Table(table.caption, table.head, table.rows[:MOST_SHOWN]), more

    def __repr__(self) -> str:
        heading, table, more = self._shown()
        return "\n".join(filter(None, [heading, table.text(), more]))

    def _repr_html_(self) -> str:
        heading, table, more = self._shown()
        return html.card(heading, html.table(table), html.paragraph(more))

    def mean(self) -> Float[np.ndarray, "horizon d_y"]:
        """The mean of each row to come."""
        return self.draws.mean(axis=0)

    def quantiles(self, levels: Sequence[float] = LEVELS) -> Float[np.ndarray, "level horizon d_y"]:
        """Quantiles of each row to come."""
        return np.quantile(self.draws, check_levels(levels), axis=0)

    def score(self, held_out: Any, levels: Sequence[float] = (0.5, 0.9)) -> Scores:
        """Compare with what came.

        Args:
            held_out: the rows after the series, (steps,) or (steps, d_y), at most the horizon; NaN
                where missing.
            levels: of the central bands.
        """
        rows = self._held_out(held_out)
        draws = self.draws[:, : len(rows)]
        seen = ~np.isnan(rows)
        coverage = {level: float(inside(draws, rows, level)[seen].mean()) for level in levels}
        return Scores(crps(draws, rows), energy_score(draws, rows), coverage)

    def plot(self, held_out: Any = None, path: str | Path | None = None, *, dark: bool = False) -> Any:
        """The end of the series and bands of what follows; a matplotlib figure.

        Args:
            held_out: what came, drawn beside them.
            path: where to write the picture.
            dark: on dark paper.
        """
        from tsnl.show.plots import forecast_figure, saved

        rows = None if held_out is None else self._held_out(held_out)
        return saved(forecast_figure(self, rows, dark=dark), path)

    def save(self, path: str | Path) -> None:
        """Write one npz file."""
        named = {"columns": np.array(self.columns, dtype=np.str_), "times": times_to_text(self.times)}
        write_npz(path, {"draws": self.draws, "series": self.series, "source": self.source} | named)

    @staticmethod
    def load(path: str | Path) -> "Forecast":
        """Read what `save` wrote."""
        stored = read_npz(path)
        source: Any = str(stored["source"])
        named = (tuple(stored["columns"].tolist()), times_of_text(str(stored.get("times", ""))))
        return Forecast(stored["draws"], stored["series"], source, *named)

    def _held_out(self, values: Any) -> Float[np.ndarray, "steps d_y"]:
        found = as_series(values)
        rows, times = as_rows(found, num_columns=self.draws.shape[2]), found.times
        both = None if self.times is None or times is None else (self.times, times)
        if both is not None and both[0].row_of(both[1]) != len(self.series):
            raise ValueError(
                f"held_out begins at {both[1].text([0])[0]}, the forecast at {self.dates[0]}: give the "
                f"rows from there on."
            )
        if len(rows) > self.draws.shape[1]:
            raise ValueError(
                f"held_out has {len(rows)} rows, the forecast {self.draws.shape[1]}: give at most so "
                f"many, from the first row after the series on."
            )
        return rows


def draw_forecast(
    key: Key[Array, ""],
    problem: Problem,
    kernel: Kernel | None,
    theta: dict[str, np.ndarray],
    horizon: int,
    inputs: Any,
    source: Source,
    num_particles: int,
) -> Forecast:
    """One future for each draw of theta; see `Result.forecast`."""
    whole_number("horizon", horizon, 1)
    known = future_inputs(problem, horizon, inputs)
    if source not in ("kernel", "simulator"):
        raise ValueError(f"source is {source!r}, expected 'kernel' or 'simulator'.")
    if source == "simulator":
        draws = simulator_futures(key, problem, theta, known, num_particles)
        return Forecast(draws, problem.series, source, problem.columns, problem.when)
    if kernel is None or kernel.spec.whole:
        other = remedy(python="source='simulator'", command="--source simulator")
        raise TypeError(
            f"This result has no kernel of one row after the other: use {other}, or infer by TSNL."
        )
    draws = kernel_futures(key, problem, kernel, theta, known)
    return Forecast(draws, problem.series, source, problem.columns, problem.when)


def future_inputs(problem: Problem, horizon: int, inputs: Any) -> Float[np.ndarray, "horizon d_u"]:
    """The known inputs of the rows to come; no columns where the problem has none.

    Raises:
        ValueError: they are missing, not asked for, or of the wrong shape.
    """
    if problem.inputs is None and inputs is None:
        return np.zeros((horizon, 0))
    if inputs is None:
        how = remedy(python="inputs=", command="--inputs")
        raise ValueError(f"The series has known inputs: give {how} of the {horizon} rows to come.")
    if problem.inputs is None:
        raise ValueError("inputs were given, and the series has none.")
    (rows,) = as_inputs(inputs, [horizon])
    if rows.shape[1] != problem.d_u:
        raise ValueError(f"inputs has {rows.shape[1]} column(s), the problem {problem.d_u}.")
    return rows
