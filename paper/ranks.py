"""Rank histograms of the four methods on the linear model.

Truths come from the prior, series from the truths; a truth's rank among draws of a right posterior is
uniform. 39 draws spread over the chains, so that 40 ranks fall into 10 equal bins.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Array, Float, Key

from paper.costs import make_method
from paper.problems import PROBLEMS
from paper.table import numbers, values, where
from paper.trial import Row, Trial
from tsnl.checks.uniformity import rank_ecdf
from tsnl.evaluate.calibration import run_trials, seed_of
from tsnl.evaluate.metrics import errors
from tsnl.inference import infer
from tsnl.result import Result
from tsnl.show.plots.calibration import rank_figure

NUM_RANKED, NUM_BINS = 39, 10
SEED = 8
BUDGETS = {"T-SNL": 10_000, "SNL": 10_000, "SMC-ABC": 1_000_000, "PMMH": 10_000_000}


@dataclass(frozen=True)
class Ranks:
    """The experiment; `rank` is that of the truth among `NUM_RANKED` draws."""

    name: str = "ranks"
    seeds: int = 100
    columns: tuple[str, ...] = ("truth", "rank")

    def trials(self, count: int | None, quick: bool) -> list[Trial]:
        """Each method on each series."""
        budgets = {"T-SNL": 1_000, "SMC-ABC": 100_000} if quick else BUDGETS
        return [
            Trial("linear", method, budget, seed, quick=quick)
            for seed in range(count or (3 if quick else self.seeds))
            for method, budget in budgets.items()
        ]

    def run(self, trial: Trial, references: Path) -> Row:
        """A truth, a series, an inference, a rank."""
        setting = PROBLEMS[trial.problem]
        method = make_method(trial.method, trial.budget, trial.problem, trial.quick)
        results: list[Result] = []

        def draws(key: Key[Array, ""], series: Float[np.ndarray, "T d_y"]) -> Result:
            results.append(
                infer(setting.model, setting.prior, series, method, seed=seed_of(key), progress=False)
            )
            return results[-1]

        start = time.perf_counter()
        found = run_trials(
            setting,
            trials=[trial.seed],
            seed=SEED,
            num_draws=NUM_RANKED,
            posterior_draws=draws,
            progress=False,
        )
        label = found.labels[0]
        theta = np.asarray(setting.prior.coordinates(results[0].draws), dtype=np.float64)
        return {
            "cost": results[0].cost,
            "seconds": time.perf_counter() - start,
            **errors(theta.reshape(-1, theta.shape[-1]), found.truth[0]),
            "truth": float(found.truth[0, 0]),
            "rank": int(found.ranks()[label][0]),
        }

    def draw(self, rows: list[Row]) -> Any:
        """A histogram for each method, with its p-value."""
        panels = {}
        for method in values(rows, "method"):
            ranks = method_ranks(rows, method)
            p = rank_ecdf(ranks, NUM_RANKED).p_value
            panels[f"{method}: p = {p:.2g}"] = ranks
        return rank_figure(panels, NUM_RANKED, num_bins=NUM_BINS)


def method_ranks(rows: list[Row], method: str) -> np.ndarray:
    """The ranks of a method, in the order of the table."""
    return numbers(where(rows, method=method), "rank").astype(int)
