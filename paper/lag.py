"""Accuracy and held-out log-score against the lag, and what each rule picks."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from paper.costs import T_SNL, neural
from paper.measures import solve
from paper.strategies import BUDGETS
from paper.table import numbers, values, where
from paper.trial import Row, Trial
from tsnl.show.plots.costs import Panel, curves_figure

LAGS = ("1", "2", "4", "8", "16")
RULES = ("acf", "validation", "aic", "bic")


@dataclass(frozen=True)
class Lag:
    """The experiment; the setting is a lag or a rule, `lag` what was used, `log_score` held out."""

    name: str = "lag"
    seeds: int = 5
    columns: tuple[str, ...] = ("lag", "log_score")

    def trials(self, count: int | None, quick: bool) -> list[Trial]:
        """Each lag and each rule on each problem."""
        budgets = {"linear": 1_000} if quick else BUDGETS
        return [
            Trial(problem, "T-SNL", budget, seed, setting, quick)
            for seed in range(count or (1 if quick else self.seeds))
            for problem, budget in budgets.items()
            for setting in (("4", "acf") if quick else LAGS + RULES)
        ]

    def run(self, trial: Trial, references: Path) -> Row:
        """T-SNL with a lag, or a rule for it."""
        lag: Any = int(trial.setting) if trial.setting in LAGS else trial.setting
        method = neural(replace(T_SNL, lag=lag), trial.budget, trial.problem, trial.quick)
        found = solve(trial, method, references)
        assert found.result.lag is not None
        loss = found.result.history[-1]["loss"]
        return {**found.row, "lag": found.result.lag[0], "log_score": -loss}

    def draw(self, rows: list[Row]) -> Any:
        """Distance and log-score against L; the titles say what the rules picked."""
        panels = []
        for problem in values(rows, "problem"):
            here = where(rows, problem=problem)
            given = [row for row in here if row["setting"] in LAGS]
            rules = [r for r in values(here, "setting") if r in RULES]
            picked = {r: np.median(numbers(where(here, setting=r), "lag")) for r in rules}
            title = ", ".join(f"{rule} {lag:.0f}" for rule, lag in picked.items())
            lags = numbers(given, "lag")
            for column, label in (("distance", here[0]["distance_kind"]), ("log_score", "log-score")):
                curves = {problem: (lags, numbers(given, column))}
                panels.append(Panel(title, label, curves, None, "log", "linear"))
        return curves_figure(panels, xlabel="lag L", columns=2)
