"""One simulation per round: how far a handful of series goes.

The first round is a single draw from the prior: what one simulation alone can teach.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from paper.costs import QUICK_SAMPLER, QUICK_TRAINING, T_SNL
from paper.figures import METRICS, curve
from paper.measures import solve
from paper.problems import PROBLEMS
from paper.table import values, where
from paper.trial import Row, Trial
from tsnl.show.plots.costs import Panel, curves_figure

ROUNDS = (1, 2, 5, 10, 20)


@dataclass(frozen=True)
class Single:
    """The experiment; the setting is the number of rounds."""

    name: str = "single"
    seeds: int = 10
    columns: tuple[str, ...] = ()

    def trials(self, count: int | None, quick: bool) -> list[Trial]:
        """Growing numbers of rounds on the linear problem."""
        length = PROBLEMS["linear"].length
        return [
            Trial("linear", "T-SNL", rounds * length, seed, f"rounds={rounds}", quick)
            for seed in range(count or (1 if quick else self.seeds))
            for rounds in ((2,) if quick else ROUNDS)
        ]

    def run(self, trial: Trial, references: Path) -> Row:
        """T-SNL with one simulation in each round."""
        rounds = trial.budget // PROBLEMS[trial.problem].length
        method = replace(T_SNL, rounds=rounds, simulations=1)
        if trial.quick:
            method = replace(method, training=QUICK_TRAINING, sampler=QUICK_SAMPLER)
        return solve(trial, method, references).row

    def draw(self, rows: list[Row]) -> Any:
        """Metrics against cost."""
        found = {f"{m}, one simulation a round": where(rows, method=m) for m in values(rows, "method")}
        panels = [
            Panel("", METRICS[metric], {name: curve(here, metric) for name, here in found.items()})
            for metric in ("distance", "bias", "sd")
        ]
        return curves_figure(panels, xlabel="calls of the dynamics", columns=3)
