"""What each part of the default recipe buys at a fixed cost.

From the paper's recipe (one masked autoregressive flow, nothing averaged, no summaries of the far past,
proposals as wide as the posterior) to the default one, and the default with one part changed.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from paper.costs import QUICK_FLOW, STOPPING, T_SNL, neural
from paper.figures import setting_panels
from paper.measures import solve
from paper.strategies import BUDGETS
from paper.trial import Row, Trial
from tsnl.kernel import MAF
from tsnl.methods import TSNL

PAPER = TSNL(
    head=MAF(),
    training=replace(STOPPING, num_members=1, averaging=0.0, learning_rate=2e-3),
    decays=(),
    widen=1.0,
)
SLOWER = replace(STOPPING, learning_rate=2e-3)
VARIANTS = {
    "default": T_SNL,
    "paper": PAPER,
    "paper, 5 members, averaged": replace(PAPER, training=SLOWER),
    "maf": TSNL(head=MAF(), training=SLOWER),
    "1 member": TSNL(training=replace(STOPPING, num_members=1)),
    "2 members": TSNL(training=replace(STOPPING, num_members=2)),
    "10 members": TSNL(training=replace(STOPPING, num_members=10)),
    "no averaging": TSNL(training=replace(STOPPING, averaging=0.0)),
    "no far past": replace(T_SNL, decays=()),
    "widen 1": replace(T_SNL, widen=1.0),
}
PROBLEMS = ("linear", "predator-prey")


@dataclass(frozen=True)
class Ablation:
    """The experiment; the setting is the variant."""

    name: str = "ablation"
    seeds: int = 10
    columns: tuple[str, ...] = ("log_score",)

    def trials(self, count: int | None, quick: bool) -> list[Trial]:
        """Each variant on each problem at one cost."""
        budgets = {"linear": 1_000} if quick else {name: BUDGETS[name] for name in PROBLEMS}
        return [
            Trial(problem, "T-SNL", budget, seed, setting, quick)
            for seed in range(count or (1 if quick else self.seeds))
            for problem, budget in budgets.items()
            for setting in (("default", "paper") if quick else VARIANTS)
        ]

    def run(self, trial: Trial, references: Path) -> Row:
        """T-SNL in one variant."""
        method = neural(VARIANTS[trial.setting], trial.budget, trial.problem, quick=False)
        if trial.quick:
            head = QUICK_FLOW if isinstance(method.head, MAF) else method.head
            method = neural(replace(method, head=head), trial.budget, trial.problem, quick=True)
        found = solve(trial, method, references)
        return {**found.row, "log_score": -found.result.history[-1]["loss"]}

    def draw(self, rows: list[Row]) -> Any:
        """Distance and log-score of each variant."""
        return setting_panels(rows, ("distance", "log_score"))
