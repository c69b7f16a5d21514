"""Which simulations to learn from: all rounds', the last round's, or the best ones."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from paper.costs import T_SNL, neural
from paper.figures import setting_panels
from paper.measures import solve
from paper.trial import Row, Trial

BUDGETS = {"linear": 10_000, "volatility": 20_000, "predator-prey": 25_000}
STRATEGIES = ("all", "last", "best")


@dataclass(frozen=True)
class Strategies:
    """The experiment; the setting is the strategy."""

    name: str = "strategies"
    seeds: int = 10
    columns: tuple[str, ...] = ()

    def trials(self, count: int | None, quick: bool) -> list[Trial]:
        """Each strategy on each problem at one cost."""
        budgets = {"linear": 1_000} if quick else BUDGETS
        return [
            Trial(problem, "T-SNL", budget, seed, strategy, quick)
            for seed in range(count or (1 if quick else self.seeds))
            for problem, budget in budgets.items()
            for strategy in STRATEGIES
        ]

    def run(self, trial: Trial, references: Path) -> Row:
        """T-SNL with one strategy."""
        method = neural(T_SNL, trial.budget, trial.problem, trial.quick)
        strategy: Any = trial.setting
        return solve(trial, replace(method, strategy=strategy), references).row

    def draw(self, rows: list[Row]) -> Any:
        """Distance, bias and spread of each strategy."""
        return setting_panels(rows, ("distance", "bias", "sd"))
