"""What the zoo knows of a problem: model, prior, one observed series, where it is from."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np

import tsnl

DATA = Path(__file__).parent / "data"
Half = Literal["tune", "report", "paper"]


@dataclass(frozen=True, eq=False)
class Entry:
    """A problem with one observed series.

    Attributes:
        name: of the entry and of its reference file.
        half: "tune" to choose defaults by, "report" to judge them by, "paper" for the paper's three.
        covers: what is hard about it.
        citation: where the model is from.
        model: the laws, with the truth in them.
        prior: over what is inferred.
        length: rows of the series.
        inputs: known inputs, where there are any.
        seed: of the observed series.
        exact: (theta, rows) to the exact log-likelihood, where there is one.
        num_particles: of the filters behind the reference, where there is none.
    """

    name: str
    half: Half
    covers: str
    citation: str
    model: tsnl.StateSpaceModel
    prior: tsnl.Prior
    length: int
    inputs: np.ndarray | None = None
    seed: int = 1
    exact: Callable[[Any, Any], Any] | None = None
    num_particles: int = 200

    @cached_property
    def series(self) -> np.ndarray:
        """The observed series: that of the reference, where it asks the same question.

        A series that were simulated anew would differ in its last digits from machine to machine, and a
        chaotic one in its first.
        """
        if self.path.exists():
            with np.load(self.path, allow_pickle=False) as stored:
                if str(stored["question"]) == self.question:
                    return stored["series"]
        with jax.enable_x64(False):
            return self.model.simulate(seed=self.seed, length=self.length, inputs=self.inputs)

    @property
    def path(self) -> Path:
        """Where the reference is kept."""
        return DATA / f"{self.name}.npz"

    @property
    def question(self) -> str:
        """Model, truth, prior and series in words: a reference of another question is of no use."""
        values = {f.name: _plain(getattr(self.model, f.name)) for f in fields(self.model)}
        laws = {
            ", ".join(names): type(law).__name__ + str({k: _plain(v) for k, v in law.get_args().items()})
            for names, law in self.prior.distributions
        }
        return f"{type(self.model).__name__}{values}, {laws}, {self.length} rows, seed {self.seed}"

    @property
    def truth(self) -> dict[str, Any]:
        """The inferred parameters' true values."""
        return {name: self.model.parameters[name] for name in self.prior.names}


def _plain(value: Any) -> str:
    """Numbers to nine digits, which are the same on every machine; words as they are."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiu":
        return str(value)
    return "[" + " ".join(f"{number:.9g}" for number in array.ravel()) + "]"
