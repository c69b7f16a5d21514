"""What an analysis of the gallery is: data, model, prior, budget and the field's own method."""

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

import tsnl

FOLDER = Path(__file__).parents[1] / "data"
SEED = 0


@dataclass(frozen=True)
class Data:
    """A series and how to draw it.

    Attributes:
        time: of each row: numbers or dates.
        time_name: what they are.
        rows: what was observed.
        columns: a name for each column.
        unit: of the rows, in words.
        log: whether everything is drawn, and the plain forecasts are made, on a logarithmic scale.
    """

    time: np.ndarray
    time_name: str
    rows: Float[np.ndarray, "T d_y"]
    columns: tuple[str, ...]
    unit: str
    log: bool = False

    @property
    def integer(self) -> bool:
        """Whether all of it is counts."""
        return bool((self.rows == np.round(self.rows)).all())


@dataclass(frozen=True)
class Analysis:
    """One page of the gallery.

    Attributes:
        name: of the page and of its files.
        title: of the page.
        model: a simulator, or a function that makes it.
        prior: over its parameters.
        data: all rows.
        held_out: how many of the last rows the fit does not see.
        budget: simulations.
        rival: what the field would do.
        reference: what the posterior is judged by, where it is not the rival.
        correction: by which the posterior is corrected, where checks ask for it.
        futures: draws of a forecast.
        period: rows after which a season comes back, for a plain forecast; None where there is none.
        period_words: the row that such a forecast repeats.
        truth: the parameters, where the data are simulated.
        true_states: the states behind the fitted rows, where they are known.
        extra: what this page alone asks: (analysis, result) to facts, beside the usual ones.
    """

    name: str
    title: str
    model: Any
    prior: tsnl.Prior
    data: Data
    held_out: int
    budget: int
    rival: tsnl.Method
    reference: tsnl.Method | None = None
    correction: tsnl.Correct = tsnl.Correct()
    futures: int = 500
    period: int | None = None
    period_words: str = ""
    truth: Mapping[str, float] | None = None
    true_states: np.ndarray | None = None
    extra: Callable[["Analysis", tsnl.Result], dict[str, Any]] | None = None

    @property
    def simulator(self) -> Any:
        """The model, made where it is a function that makes it."""
        made = callable(self.model) and not isinstance(self.model, tsnl.StateSpaceModel)
        return self.model() if made else self.model

    @property
    def fitted(self) -> Float[np.ndarray, "T d_y"]:
        """The rows that the fit sees."""
        return self.data.rows[: -self.held_out]

    @property
    def later(self) -> Float[np.ndarray, "steps d_y"]:
        """The rows that it does not see."""
        return self.data.rows[-self.held_out :]

    def short(self, budget: int, rival: tsnl.Method) -> "Analysis":
        """The same with a small budget, a small rival and little of all else, to see that it runs."""
        correction = tsnl.Correct(num_draws=50, num_moves=10, num_particles=100)
        return replace(self, budget=budget, rival=rival, correction=correction, futures=50)


def read(
    file: str,
    unit: str,
    *,
    log: bool = False,
    rows: int | None = None,
    transform: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Data:
    """A CSV file of examples/data: the first column is time, the others are the series."""
    with (FOLDER / file).open() as lines:
        head, *body = csv.reader(lines)
    body = body[:rows]
    dated = not body[0][0].isdigit()
    time = np.array([row[0] for row in body], dtype="datetime64[D]" if dated else float)
    values = np.array([[float(entry) for entry in row[1:]] for row in body])
    values = values if transform is None else transform(values)
    names = tuple(name.replace("_", " ") for name in head[1:])
    return Data(time, head[0], values, names, unit, log)
