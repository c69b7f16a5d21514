"""What an inference gives back."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tsnl.posterior import Posterior, constrained
from tsnl.problem import Problem


@dataclass(frozen=True)
class Result:
    """Draws of the posterior, what they cost and how they came about.

    Attributes:
        draws: name to array (chain, draw, *event).
        cost: calls of the dynamics p(x_t | x_{t-1}).
        status: what happened, in plain words.
        history: one record for each round: losses, effective sizes, shifts, seconds by phase.
        posterior: the posterior as a function.
        problem: the question that was asked.
        method: the options that answered it.
        seed: the seed.
    """

    draws: dict[str, np.ndarray]
    cost: int
    status: str
    history: list[dict[str, Any]]
    posterior: Posterior
    problem: Problem
    method: Any
    seed: int

    @staticmethod
    def of(problem: Problem, method: Any, outcome: Any, seed: int) -> "Result":
        """Put together what a method returned."""
        return Result(
            draws=constrained(problem.prior, outcome.draws.z),
            cost=outcome.simulated.cost,
            status=outcome.status,
            history=outcome.history,
            posterior=outcome.posterior,
            problem=problem,
            method=method,
            seed=seed,
        )
