"""Autocorrelation norms of the models, averaged over simulations, with the lags that the rule picks.

A trial is one series at the truth; the rule also looks at prior simulations, as in a T-SNL run.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from paper.problems import PROBLEMS
from paper.table import numbers, values, where
from paper.trial import Row, Trial
from tsnl.kernel.lag import acf_norms, by_acf
from tsnl.show.plots.costs import Panel, curves_figure

MAX_LAG = 25
PRIOR_SERIES = 20
MODELS = ("linear", "volatility", "predator-prey")


@dataclass(frozen=True)
class Acf:
    """The experiment; `norm_L` is the norm at lag L, relative to lag 0."""

    name: str = "acf"
    seeds: int = 50
    columns: tuple[str, ...] = ("lag", *(f"norm_{lag}" for lag in range(MAX_LAG + 1)))

    def trials(self, count: int | None, quick: bool) -> list[Trial]:
        """Series of each model."""
        seeds = range(count or (3 if quick else self.seeds))
        return [Trial(problem, "acf", 0, seed, quick=quick) for seed in seeds for problem in MODELS]

    def run(self, trial: Trial, references: Path) -> Row:
        """One series, and the lag chosen for it."""
        start = time.perf_counter()
        problem = PROBLEMS[trial.problem].observe(trial.seed)
        key_theta, key = jax.random.split(jax.random.key(trial.seed))
        z = problem.prior.sample_unconstrained(key_theta, PRIOR_SERIES)
        simulated = problem.simulate(key, problem.prior.constrain_all(z))
        choice = by_acf(problem.series, simulated.series.astype(np.float64))
        norms = acf_norms(problem.series, MAX_LAG)
        row: Row = {"cost": simulated.cost, "seconds": time.perf_counter() - start, "lag": choice.lag}
        return row | {f"norm_{lag}": float(x) for lag, x in enumerate(norms)}

    def draw(self, rows: list[Row]) -> Any:
        """Norm against lag, a panel for each model."""
        lags = np.arange(MAX_LAG + 1.0)
        panels = []
        for problem in values(rows, "problem"):
            here = where(rows, problem=problem)
            norms = np.stack([numbers(here, f"norm_{lag:.0f}") for lag in lags], axis=1)
            x = np.tile(lags, len(here))
            title = f"{problem}: lag {np.median(numbers(here, 'lag')):.0f} by rule"
            panels.append(Panel(title, "norm", {problem: (x, norms.ravel())}, 0.2, "linear", "linear"))
        return curves_figure(panels, xlabel="lag", columns=3, floor="threshold")
