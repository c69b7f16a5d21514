"""Validation loss of SNL and T-SNL for a growing number of time steps.

One round of prior simulations of the linear model, the loss as each method trains on it: minus the
log-density of a whole held-out series for SNL, of one held-out row for T-SNL, in standardised units.
`loss_per_step` divides SNL's by T. The budget is T.
"""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from paper.costs import QUICK_FLOW, QUICK_TRAINING, T_SNL
from paper.problems import PROBLEMS
from paper.table import numbers, values, where
from paper.trial import Row, Trial
from tsnl.inference import infer
from tsnl.methods import SNL
from tsnl.methods.sequential.options import Sequential
from tsnl.sampling import MCMC
from tsnl.show.plots.costs import Panel, curves_figure

LENGTHS = (10, 25, 50, 100, 200, 400)
SIMULATIONS = 100
LOOK = MCMC(num_chains=2, num_warmup=10, num_draws=10, max_extensions=0)  # only the training counts


@dataclass(frozen=True)
class ValLoss:
    """The experiment; `curve` has the loss at each look during training."""

    name: str = "val-loss"
    seeds: int = 5
    columns: tuple[str, ...] = ("loss", "loss_per_step", "curve", "curve_steps")

    def trials(self, count: int | None, quick: bool) -> list[Trial]:
        """Both methods at each length."""
        return [
            Trial("linear", method, length, seed, quick=quick)
            for seed in range(count or (1 if quick else self.seeds))
            for length in ((10,) if quick else LENGTHS)
            for method in ("T-SNL", "SNL")
        ]

    def run(self, trial: Trial, references: Path) -> Row:
        """Train once on prior simulations of length T."""
        setting = replace(PROBLEMS[trial.problem], length=trial.budget)
        problem = setting.observe(trial.seed)
        method: Sequential = T_SNL if trial.method == "T-SNL" else SNL()
        simulations = 20 if trial.quick else SIMULATIONS
        method = replace(method, rounds=1, simulations=simulations, sampler=LOOK)
        if trial.quick:
            method = replace(method, training=QUICK_TRAINING, head=QUICK_FLOW)
        start = time.perf_counter()
        result = infer(
            problem.model, problem.prior, problem.series, method, seed=trial.seed, progress=False
        )
        record = result.history[-1]
        per_step = trial.budget if trial.method == "SNL" else 1
        return {
            "cost": result.cost,
            "seconds": time.perf_counter() - start,
            "loss": record["loss"],
            "loss_per_step": record["loss"] / per_step,
            "curve": ";".join(f"{x:.5g}" for x in record["losses"]),
            "curve_steps": method.training.check_every,
        }

    def draw(self, rows: list[Row]) -> Any:
        """The loss against T, as trained and per step; then during training, one curve for each T."""
        methods = values(rows, "method")

        def panel(column: str, label: str) -> Panel:
            found = {m: where(rows, method=m) for m in methods}
            curves = {m: (numbers(r, "budget"), numbers(r, column)) for m, r in found.items()}
            return Panel("after training", label, curves, None, "log", "linear")

        panels = [panel("loss", "validation loss"), panel("loss_per_step", "validation loss per step")]
        panels += [_training(rows, method) for method in methods]
        return curves_figure(panels, xlabel="time steps T (right: training steps)", columns=4)


def _training(rows: list[Row], method: str) -> Panel:
    """The first seed's loss during training."""
    here = [row for row in where(rows, method=method) if row["seed"] == rows[0]["seed"]]
    curves = {}
    for row in here:
        y = np.array([float(x) for x in row["curve"].split(";")])
        steps = float(row["curve_steps"]) * (1 + np.arange(len(y)))
        curves[f"T = {row['budget']}"] = (steps, y)
    return Panel(f"{method} in training", "validation loss", curves, None, "linear", "linear")
