"""Truncated sequential neural likelihood."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from tsnl.kernel import Decays, HeadFamily, KernelSpec, Lags, MemoryFamily, Mixture, Transform
from tsnl.kernel.heads.network import Network
from tsnl.kernel.lag import Lag
from tsnl.kernel.memory import Recurrent
from tsnl.kernel.stacked import with_networks
from tsnl.likelihood.target import has_whole_rows
from tsnl.methods.sequential.options import Sequential
from tsnl.models.base import StateSpaceModel, num_entries
from tsnl.problem import Problem
from tsnl.store.registry import register

MANY = 2000  # simulations from which on more weights are better, without inputs (decision 0015)
MOST_VIEWS, MOST_ROWS = 8, 2_000_000  # of a path of states, and of all of them
MOST_ENTRIES, MOST_FILTERED = 16, 6000  # of a state whose law is learned, and of all observed rows
NETWORKS, FEWEST = 2, 40  # beside the mixtures, from so many simulations on
BENDS = (0, 32)  # bent features of few simulations, and of many
FINE = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)  # rates of its decays


@register
@dataclass(frozen=True, kw_only=True)
class TSNL(Sequential):
    r"""Learn one kernel \(q(y_t \mid y_{t-L:t-1}, \theta)\), multiply it along the series, sample.

    The options of `Sequential`, and:

    Attributes:
        lag: L, the rows before y_t that the kernel sees one by one; or the rule that finds it from the
            first round's simulations: "acf", "validation", "aic" or "bic" (see `tsnl.kernel.lag`).
        decays: decay rates of the averages of the far past that it sees beside them; () for none, None
            chooses by the number of simulations.
        memory: further memories beside lags and decays.
        views: series to observe each simulated path of states by, where the model's laws are known: the
            observation law is drawn from again, the dynamics are not, so views cost no calls of them
            and come close to as many further simulations where observation noise is large. None
            takes up to 8, fewer where that would be more than two million rows.
        states: whether to learn the law of the states too, before and after the last round, and to mend
            the posterior by a particle filter with it, where that makes series more probable than the
            kernel does. It calls no dynamics. None does where the model's laws are known, for a state of
            at most 16 entries, and 6,000 of them in all observed rows. The law of a row given its
            state is learned too where the model has no `log_observation`.
        networks: how many networks with recurrent memories are learned beside the kernel of mixtures,
            and stacked with it by how well both foresee held-out series. A black box gets them from
            half of the simulations on; where the law of the states is learned, they are left out unless
            the filter with it is not to be trusted. None takes two from 40 simulations on, where `head`
            is a mixture and `memory` is empty.
        gaps: whether the kernel learns to do with entries missing from its past; None does where the
            series has some. True lets a kernel from a complete series stand gaps in later data.
    """

    title: ClassVar[str] = "T-SNL"
    takes_missing: ClassVar[bool] = True  # a missing target drops out, a missing past is marked
    takes_panel: ClassVar[bool] = True  # the product of the likelihoods

    lag: Lag = 4
    decays: tuple[float, ...] | None = None
    memory: tuple[MemoryFamily, ...] = ()
    views: int | None = None
    states: bool | None = None
    networks: int | None = None
    gaps: bool | None = None
    transform: Transform | Literal["auto"] = "auto"
    head: HeadFamily = Mixture()

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.lag, int) and self.lag < 1:
            raise ValueError(f"lag is {self.lag}, expected at least 1.")
        if self.views is not None and self.views < 1:
            raise ValueError(f"views is {self.views}, expected None or at least 1.")
        if self.networks is not None and self.networks < 0:
            raise ValueError(f"networks is {self.networks}, expected None, 0 or more.")
        if self.networks and (self.memory or not isinstance(self.head, Mixture)):
            raise ValueError(
                f"networks is {self.networks}: they stand beside head=Mixture(...), with memory=()."
            )

    def num_views(self, problem: Problem) -> int:
        """Series that each simulated path of states is observed by."""
        if not isinstance(problem.model, StateSpaceModel):
            return 1
        affordable = MOST_ROWS // (sum(self.sizes) * problem.length)
        return min(MOST_VIEWS, max(1, affordable)) if self.views is None else self.views

    def keeps_states(self, problem: Problem) -> bool:
        """Whether to learn from simulated states too, after the last round."""
        if self.states is False or not isinstance(problem.model, StateSpaceModel):
            return False
        if not has_whole_rows(problem):
            return False
        entries, rows = num_entries(problem.model), sum(len(one) for one in problem.panel)
        return entries <= MOST_ENTRIES and entries * rows <= MOST_FILTERED

    def with_networks(self, spec: KernelSpec, simulations: int) -> KernelSpec:
        """The kernel of mixtures, and networks with recurrent memories beside it."""
        able = isinstance(spec.head, Mixture) and not self.memory and simulations >= FEWEST
        count = NETWORKS * able if self.networks is None else self.networks
        return with_networks(spec, Recurrent(), Network(), count) if count else spec

    @property
    def lag_rule(self) -> Lag:
        """The lag, or the rule that finds it."""
        return self.lag

    def spec(self, problem: Problem, lag: int) -> KernelSpec:
        """The kernel for a problem, with this lag."""
        if problem.length <= lag:
            raise ValueError(
                f"The series has {problem.length} rows and the lag is {lag}: every window would "
                f"reach before the start. Choose a lag below {problem.length}."
            )
        rich = sum(self.sizes) >= MANY and problem.d_u == 0
        decays = self.decays if self.decays is not None else FINE if rich else Decays().rates
        head = self.head
        if isinstance(head, Mixture):
            curved = rich if head.curved is None else head.curved
            bends = BENDS[rich] if head.bends is None else head.bends
            head = replace(head, curved=curved, bends=bends)
        return KernelSpec(
            head=head,
            memory=(Lags(lag), Decays(tuple(decays)), *self.memory),
            d_y=problem.d_y,
            d_u=problem.d_u,
            size=problem.prior.size,
            num_members=self.training.num_members,
            integer=self.integer(problem),
            gaps=any(np.isnan(y).any() for y in problem.panel) if self.gaps is None else self.gaps,
        )
