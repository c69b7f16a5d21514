"""Truncated sequential neural likelihood."""

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Array, Key

from tsnl.density import MAF, TRANSFORMS, Family, Mixture, Transform
from tsnl.methods.learning import Lag, Plan
from tsnl.methods.outcome import Outcome
from tsnl.methods.rounds import run_rounds
from tsnl.methods.simulated import Strategy
from tsnl.problem import Problem
from tsnl.progress import Progress
from tsnl.sampling import MCMC
from tsnl.training import Training

RULES = ("acf", "validation", "aic", "bic")


@dataclass(frozen=True)
class TSNL:
    r"""Learn one kernel \(q(y_t \mid y_{t-L:t-1}, \theta)\), multiply it along the series, sample.

    Attributes:
        rounds: how often to simulate, learn and sample; the first round draws from the prior, each
            further one from the posterior before it.
        simulations: series simulated in each round.
        widen: how much wider than the last posterior to simulate, never wider than the prior; 1 is the
            paper's choice, more shows better how the density changes with theta.
        lag: L, the rows before y_t that the kernel sees one by one; or the rule that finds it from the
            first round's simulations: "acf", "validation", "aic" or "bic" (see `tsnl.lag`).
        decays: decay rates of the summaries of the far past that it sees beside them; () for none.
        density: the family of kernels.
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
    lag: Lag = 2
    decays: tuple[float, ...] = (0.5, 0.8, 0.95)
    density: Family = Mixture()
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

        if isinstance(self.lag, str) and self.lag not in RULES:
            raise ValueError(f"lag is {self.lag!r}, expected a number or one of {RULES}.")
        if isinstance(self.lag, int) and self.lag < 1:
            raise ValueError(f"lag is {self.lag}, expected at least 1.")

    def run(self, key: Key[Array, ""], problem: Problem, progress: Progress) -> Outcome:
        """Infer; see `tsnl.infer`."""
        if isinstance(self.lag, int) and problem.length <= self.lag:
            raise ValueError(
                f"The series has {problem.length} rows and the lag is {self.lag}: every window would "
                f"reach before the start. Choose a lag below {problem.length}."
            )
        if isinstance(self.density, MAF) and problem.series.shape[1] == 1:
            warnings.warn(
                "For scalar y an affine MAF can only be a Gaussian: use density=Mixture() or Spline() "
                "unless that is what you want.",
                stacklevel=4,
            )
        return run_rounds(key, problem, self.plan(problem), progress)

    def plan(self, problem: Problem) -> Plan:
        """The options with everything decided."""
        dequantise = self.dequantise
        if dequantise is None:
            dequantise = is_integer(problem.series)
        return Plan(
            title="T-SNL",
            whole=False,
            rounds=self.rounds,
            simulations=self.simulations,
            widen=self.widen,
            lag=self.lag,
            decays=tuple(self.decays),
            family=self.density,
            training=self.training,
            sampler=self.sampler,
            strategy=self.strategy,
            transform=self.transform,
            dequantise=dequantise,
            stop=self.stop,
            max_cost=self.max_cost,
        )


def is_integer(series: np.ndarray) -> bool:
    """Whether every observed value is an integer."""
    return bool((series == np.round(series)).all())
