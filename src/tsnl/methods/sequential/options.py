"""The options that sequential neural methods have in common."""

import warnings
from abc import abstractmethod
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Array, Key

from tsnl.kernel import MAF, HeadFamily, KernelSpec, Transform
from tsnl.kernel.lag import Lag
from tsnl.kernel.training import Training
from tsnl.methods.api import Method, Outcome
from tsnl.problem import Problem
from tsnl.runtime.checked import check_fields
from tsnl.runtime.progress import Progress
from tsnl.runtime.reader import remedy
from tsnl.sampling import MCMC
from tsnl.simulation import Table

Strategy = Literal["all", "last", "best"]
# Simulations from which on there are so many rounds.
ROUNDS = ((400, 8), (200, 5), (50, 3), (1, 2))
FEW, MOST_GROWTH = 250, 4.0  # simulations; times as many effective draws where there are more, at most


def split_budget(simulations: int) -> tuple[int, ...]:
    """Rounds for so many simulations in all: few are best spent in two (see decision 0015)."""
    rounds = next(rounds for least, rounds in ROUNDS if simulations >= least)
    ends = [round(simulations * i / rounds) for i in range(rounds + 1)]
    return tuple(b - a for a, b in pairwise(ends) if b > a)


@dataclass(frozen=True, kw_only=True)
class Sequential(Method):
    """Simulate, learn a density, sample, repeat.

    Attributes:
        rounds: how often to simulate, learn and sample; the first round draws from the prior, each
            further one from the posterior before it.
        simulations: series simulated in each round.
        budget: series to simulate in all, in the place of `rounds` and `simulations`: the run splits
            them into rounds by itself (see `split_budget`).
        widen: how much wider than the last posterior to simulate, never wider than the prior; 1 is the
            paper's choice, more shows better how the density changes with theta. A round whose kernel
            is not trusted yet samples the likelihood to a power below one, and widens by as much less.
        head: the family of densities.
        training: how they are fitted.
        sampler: how theta is sampled.
        strategy: which simulations to learn from: "all" so far, the "last" round's, or the "best", as
            many as a round has, closest to the observed series.
        transform: monotone transform of y before anything else: "none", "asinh", "log" or "logit";
            "auto" takes for each column the one with the best held-out log-score.
        counts: whether y is integer-valued, and gets probabilities; None finds out, column by column.
        stop: "converged" stops when a round did not move the posterior, "never" runs all rounds.
        max_cost: the most calls of the dynamics to make, T for each simulation; None for no limit.
    """

    title: ClassVar[str]
    takes_table: ClassVar[bool] = True

    rounds: int = 5
    simulations: int = 20
    budget: int | None = None
    widen: float = 2.0
    head: HeadFamily
    training: Training = Training()
    sampler: MCMC = MCMC()
    strategy: Strategy = "all"
    transform: Transform | Literal["auto"] = "none"
    counts: bool | None = None
    stop: Literal["never", "converged"] = "never"
    max_cost: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("rounds", "simulations", "budget"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at least 1.")
        if self.max_cost is not None and self.max_cost < 1:
            raise ValueError(f"max_cost is {self.max_cost}, expected None or at least 1.")
        if not self.widen >= 1:
            raise ValueError(f"widen is {self.widen}, expected at least 1.")

    @property
    def sizes(self) -> tuple[int, ...]:
        """Simulations of each round."""
        if self.budget is not None:
            return split_budget(self.budget)
        return (self.simulations,) * self.rounds

    @property
    def answer_sampler(self) -> MCMC:
        """How the answer is sampled: the noise of its draws is to shrink with more simulations too."""
        growth = min(max(sum(self.sizes) / FEW, 1.0), MOST_GROWTH)
        target = self.sampler.target_ess or round(growth * self.sampler.min_ess)
        return replace(self.sampler, target_ess=target)

    def num_views(self, problem: Problem) -> int:
        """Series that each simulated path of states is observed by."""
        return 1

    def keeps_states(self, problem: Problem) -> bool:
        """Whether to learn from simulated states too, after the last round."""
        return False

    @property
    def lag_rule(self) -> Lag:
        """The lag, or the rule that finds it."""
        return 0

    def with_networks(self, spec: KernelSpec, simulations: int) -> KernelSpec:
        """The kernel, and what is learned beside it from so many simulations."""
        return spec

    @abstractmethod
    def spec(self, problem: Problem, lag: int) -> KernelSpec:
        """What kernel to learn for a problem, with this lag."""

    def run(self, key: Key[Array, ""], problem: Problem, progress: Progress) -> Outcome:
        """Infer; see `tsnl.infer`."""
        from tsnl.methods.sequential.rounds import run  # which takes these options

        self._check(problem)
        return run(key, problem, self.on(problem), progress)

    def on(self, problem: Problem) -> "Sequential":
        """The options for a problem: with a table there is nothing to simulate in a second round."""
        if not isinstance(problem.model, Table):
            return self
        return self.once(len(problem.model))

    def once(self, simulations: int) -> "Sequential":
        """The options for one round of so many simulations."""
        return replace(self, rounds=1, simulations=simulations, budget=None, max_cost=None)

    def affordable(self, number: int, cost: int, length: int) -> int:
        """How many simulations a round may have, after so many rounds and calls of the dynamics."""
        if number >= len(self.sizes):
            return 0
        wanted = self.sizes[number]
        return wanted if self.max_cost is None else min(wanted, (self.max_cost - cost) // length)

    def integer(self, problem: Problem) -> tuple[bool, ...]:
        """Which columns are integer-valued: as the option says, or where every observed value is."""
        if self.counts is not None:
            return (self.counts,) * problem.d_y
        rows = np.concatenate(problem.panel)
        return tuple(((rows == np.round(rows)) | np.isnan(rows)).all(axis=0).tolist())

    def _check(self, problem: Problem) -> None:
        """Refuse or warn of what will not work, before anything is simulated."""
        if problem.model.can_simulate and self.affordable(0, 0, problem.length) < 1:
            raise ValueError(
                f"max_cost is {self.max_cost}, less than the {problem.length} calls of one simulation: "
                f"allow at least a few of those."
            )
        spec = self.spec(problem, self.lag_rule if isinstance(self.lag_rule, int) else 1)
        if isinstance(self.head, MAF) and spec.d_y == 1:
            other = remedy(python="head=Mixture() or Spline()", command="--set head.class=Mixture")
            warnings.warn(
                f"For scalar y an affine MAF can only be a Gaussian: use {other} unless that is what "
                f"you want.",
                stacklevel=5,
            )
