"""What the zoo knows of a problem: model, prior, one observed series, where it is from."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

import tsnl

Half = Literal["tune", "report", "paper"]


@dataclass(frozen=True)
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
        """The observed series, simulated at the truth."""
        return self.model.simulate(seed=self.seed, length=self.length, inputs=self.inputs)

    @property
    def truth(self) -> dict[str, Any]:
        """The inferred parameters' true values."""
        return {name: self.model.parameters[name] for name in self.prior.names}
