"""Truncated sequential neural likelihood."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tsnl.kernel import Family, Mixture
from tsnl.methods.sequential.learning import Lag, Plan
from tsnl.methods.sequential.options import Sequential
from tsnl.problem import Problem

RULES = ("acf", "validation", "aic", "bic")


@dataclass(frozen=True, kw_only=True)
class TSNL(Sequential):
    r"""Learn one kernel \(q(y_t \mid y_{t-L:t-1}, \theta)\), multiply it along the series, sample.

    The options of `Sequential`, and:

    Attributes:
        lag: L, the rows before y_t that the kernel sees one by one; or the rule that finds it from the
            first round's simulations: "acf", "validation", "aic" or "bic" (see `tsnl.kernel.lag`).
        decays: decay rates of the summaries of the far past that it sees beside them; () for none.
        gaps: whether the kernel learns to do with entries missing from its context; None does where the
            series has some. True lets a kernel from a complete series stand gaps in later data.
    """

    takes_missing: ClassVar[bool] = True  # a missing target drops out, a missing context is marked
    takes_panel: ClassVar[bool] = True  # the product of the likelihoods

    lag: Lag = 4
    decays: tuple[float, ...] = (0.5, 0.8, 0.95)
    gaps: bool | None = None
    density: Family = Mixture()

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.lag, str) and self.lag not in RULES:
            raise ValueError(f"lag is {self.lag!r}, expected a number or one of {RULES}.")
        if isinstance(self.lag, int) and self.lag < 1:
            raise ValueError(f"lag is {self.lag}, expected at least 1.")

    def plan(self, problem: Problem) -> Plan:
        """The options with everything decided."""
        if isinstance(self.lag, int) and problem.length <= self.lag:
            raise ValueError(
                f"The series has {problem.length} rows and the lag is {self.lag}: every window would "
                f"reach before the start. Choose a lag below {problem.length}."
            )
        gaps = any(np.isnan(one).any() for one in problem.panel) if self.gaps is None else self.gaps
        return self.make_plan(problem, "T-SNL", False, self.lag, tuple(self.decays), gaps)
