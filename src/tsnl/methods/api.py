"""What every method of inference gives back."""

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.kernel.lag import LagChoice
from tsnl.posterior import Posterior
from tsnl.problem import Problem
from tsnl.runtime.progress import Progress


@dataclass(frozen=True)
class Outcome:
    """Draws, and how they came about.

    Attributes:
        z: unconstrained draws of equal weight.
        log_density: of each draw, unnormalised, in unconstrained coordinates; NaN where there is none.
        cost: calls of the dynamics.
        status: what happened, in plain words.
        history: one record for each round or generation, ready for JSON.
        posterior: as a function, where the method has one.
        lag: the lag and why, where the method has one.
        arrays: whatever else is worth keeping, by name.
    """

    z: Float[np.ndarray, "chain draw size"]
    log_density: Float[np.ndarray, "chain draw"]
    cost: int
    status: str
    history: list[dict[str, Any]]
    posterior: Posterior | None = None
    lag: LagChoice | None = None
    arrays: dict[str, np.ndarray] = field(default_factory=dict)


@runtime_checkable
class Method(Protocol):
    """A frozen dataclass of options that can answer a problem."""

    def run(self, key: Key[Array, ""], problem: Problem, progress: Progress) -> Outcome:
        """Infer; see `tsnl.infer`."""
        ...
