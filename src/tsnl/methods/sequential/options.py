"""The options that sequential neural methods have in common."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Array, Key

from tsnl.kernel import MAF, TRANSFORMS, Family, Transform
from tsnl.kernel.training import Training
from tsnl.methods.api import Outcome
from tsnl.methods.sequential.learning import Lag, Plan
from tsnl.methods.sequential.rounds import run_rounds
from tsnl.methods.sequential.simulated import Strategy
from tsnl.problem import Problem
from tsnl.runtime.progress import Progress
from tsnl.sampling import MCMC
from tsnl.simulation import Table


@dataclass(frozen=True, kw_only=True)
class Sequential:
    """Simulate, learn a density, sample, repeat.

    Attributes:
        rounds: how often to simulate, learn and sample; the first round draws from the prior, each
            further one from the posterior before it.
        simulations: series simulated in each round.
        widen: how much wider than the last posterior to simulate, never wider than the prior; 1 is the
            paper's choice, more shows better how the density changes with theta.
        density: the family of densities.
        training: how they are fitted.
        sampler: how theta is sampled.
        strategy: which simulations to learn from: "all" so far, the "last" round's, or the "best", as
            many as a round has, closest to the observed series.
        transform: monotone transform of y before anything else: "none", "asinh" or "log1p".
        dequantise: whether y is integer-valued and gets uniform noise; None finds out.
        stop: "converged" stops when a round did not move the posterior, "never" runs all rounds.
        max_cost: the most calls of the dynamics to make, T for each simulation; None for no limit.
    """

    rounds: int = 5
    simulations: int = 20
    widen: float = 2.0
    density: Family
    training: Training = Training()
    sampler: MCMC = MCMC()
    strategy: Strategy = "all"
    transform: Transform = "none"
    dequantise: bool | None = None
    stop: Literal["never", "converged"] = "never"
    max_cost: int | None = None

    def __post_init__(self) -> None:
        for name in ("rounds", "simulations"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at least 1.")
        if not self.widen >= 1:
            raise ValueError(f"widen is {self.widen}, expected at least 1.")
        for name, allowed in (
            ("strategy", ("all", "last", "best")),
            ("transform", TRANSFORMS),
            ("stop", ("never", "converged")),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is {getattr(self, name)!r}, expected one of {allowed}.")

    def run(self, key: Key[Array, ""], problem: Problem, progress: Progress) -> Outcome:
        """Infer; see `tsnl.infer`."""
        plan = self.plan(problem)
        simulates = not isinstance(problem.model, Table)
        if simulates and self.max_cost is not None and self.max_cost < problem.length:
            raise ValueError(
                f"max_cost is {self.max_cost}, less than the {problem.length} calls of one simulation: "
                f"allow at least a few of those."
            )
        if isinstance(self.density, MAF) and plan.rows(problem.panel[0][None]).shape[2] == 1:
            warnings.warn(
                "For scalar y an affine MAF can only be a Gaussian: use density=Mixture() or Spline() "
                "unless that is what you want.",
                stacklevel=4,
            )
        return run_rounds(key, problem, plan, progress)

    def plan(self, problem: Problem) -> Plan:
        """The options with everything decided."""
        raise NotImplementedError

    def make_plan(
        self,
        problem: Problem,
        title: str,
        whole: bool,
        lag: Lag,
        decays: tuple[float, ...],
        gaps: bool = False,
    ) -> Plan:
        """The plan, with what the methods do not have in common."""
        return Plan(
            title=title,
            whole=whole,
            rounds=self.rounds,
            simulations=self.simulations,
            widen=self.widen,
            lag=lag,
            decays=decays,
            family=self.density,
            training=self.training,
            sampler=self.sampler,
            strategy=self.strategy,
            transform=self.transform,
            dequantise=is_integer(problem.panel) if self.dequantise is None else self.dequantise,
            gaps=gaps,
            stop=self.stop,
            max_cost=self.max_cost,
        )


def is_integer(panel: Sequence[np.ndarray]) -> bool:
    """Whether every observed value is an integer."""
    values = np.concatenate([series[np.isfinite(series)] for series in panel])
    return bool((values == np.round(values)).all())
