"""The posterior over time as data arrive, on the linear model.

T-SNL is trained on the first 100 rows; more arrive one by one and move weighted particles
(`Posterior.update`), with no simulation. The budget is the number of new rows. At each time the
particles are compared with the exact posterior of all rows so far and with fresh MCMC on the same
kernel.
"""

import time
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from paper.costs import QUICK_SAMPLER, QUICK_TRAINING, T_SNL
from paper.measures import NUM_BINS, TV, binned_variation, equal_cuts
from paper.problems import LINEAR, linear_reference
from paper.references import LINEAR_GRID, Reference
from paper.table import numbers
from paper.trial import Row, Trial
from tsnl.evaluate.metrics import errors
from tsnl.inference import infer
from tsnl.posterior.stream import Stream
from tsnl.problem import Problem
from tsnl.result import Result
from tsnl.sampling import MCMC
from tsnl.show.plots.costs import Panel, curves_figure
from tsnl.show.plots.style import style

FIRST = 100  # rows to train on
NEW = (0, 10, 25, 50, 100, 200)
FRESH = MCMC(num_draws=1000, min_ess=2000)
QUANTILES = {"q05": 0.05, "q50": 0.5, "q95": 0.95}


@dataclass(frozen=True)
class Streaming:
    """The experiment; quantiles are of Q, `to_fresh` and `distance` total variations."""

    name: str = "streaming"
    seeds: int = 10
    columns: tuple[str, ...] = (
        *QUANTILES,
        *(f"exact_{name}" for name in QUANTILES),
        "to_fresh",
        "train_seconds",
        "update_seconds",
        "refreshes",
    )

    def trials(self, count: int | None, quick: bool) -> list[Trial]:
        """Growing numbers of new rows of each series."""
        return [
            Trial("linear", "T-SNL", new, seed, quick=quick)
            for seed in range(count or (1 if quick else self.seeds))
            for new in ((0, 5) if quick else NEW)
        ]

    def run(self, trial: Trial, references: Path) -> Row:
        """Follow the new rows, then compare."""
        start = time.perf_counter()
        series = LINEAR.model.simulate(seed=trial.seed, length=FIRST + max(NEW)).astype(float)
        result, train_seconds = _trained(trial.seed, trial.quick)
        assert result.posterior is not None
        stream = Stream.begin(result.posterior, series[:FIRST], seed=trial.seed)
        seconds = []
        for row in series[FIRST : FIRST + trial.budget]:
            begin, before = time.perf_counter(), stream.refreshes
            stream = stream.update(row)
            if stream.refreshes == before:
                seconds.append(time.perf_counter() - begin)
        z, weights = stream.cloud.z[:, 0].astype(np.float64), stream.cloud.weights
        right = exact(stream.series)
        draws = stream.sample(2000)["Q"].reshape(-1, 1).astype(np.float64)
        row = {
            "cost": result.cost,
            "seconds": time.perf_counter() - start,
            **errors(draws, np.array([LINEAR.truth["Q"]], dtype=float).reshape(1)),
            "distance": binned_variation(z, weights, equal_cuts(right, NUM_BINS)),
            "distance_kind": TV,
            "update_seconds": float(np.median(seconds)) if seconds else "",
            "refreshes": stream.refreshes,
            "train_seconds": train_seconds,
            "to_fresh": against_fresh(stream, trial.seed, QUICK_SAMPLER if trial.quick else FRESH),
        }
        for name, level in QUANTILES.items():
            row[name] = float(np.quantile(draws, level))
            row[f"exact_{name}"] = float(np.exp(np.quantile(right.draws, level)))
        return row

    def draw(self, rows: list[Row]) -> Any:
        """The first seed's posterior over time, exact and streamed, and the distances of all."""
        every = FIRST + numbers(rows, "budget")
        panels = [
            Panel(title, TV, {"streamed": (every, numbers(rows, column))}, None, "linear", "linear")
            for title, column in (("to the exact posterior", "distance"), ("to fresh MCMC", "to_fresh"))
        ]
        figure = curves_figure([Panel("", "", {}), *panels], xlabel="rows so far", columns=3)
        first = [row for row in rows if row["seed"] == rows[0]["seed"]]
        axes, t = figure.axes[0], FIRST + numbers(first, "budget")
        axes.clear()
        with style() as palette:
            for prefix, label, colour in (
                ("", "streamed", palette.main),
                ("exact_", "exact", palette.truth),
            ):
                low, middle, high = (numbers(first, prefix + name) for name in QUANTILES)
                axes.plot(t, middle, color=colour, lw=1.5, label=label)
                axes.fill_between(t, low, high, color=colour, alpha=0.15, lw=0)
        axes.set(title="median and 90 %", ylabel="Q")
        axes.legend()
        return figure


@lru_cache(maxsize=1)
def _trained(seed: int, quick: bool) -> tuple[Result, float]:
    """The one training of a seed, for all its trials in this process, and its seconds."""
    method = T_SNL
    if quick:
        method = replace(
            method, rounds=1, simulations=10, training=QUICK_TRAINING, sampler=QUICK_SAMPLER
        )
    series = LINEAR.model.simulate(seed=seed, length=FIRST + max(NEW))[:FIRST]
    start = time.perf_counter()
    result = infer(LINEAR.model, LINEAR.prior, series, method, seed=seed, progress=False)
    return result, time.perf_counter() - start


def exact(series: Float[np.ndarray, "T d_y"]) -> Reference:
    """The exact posterior of some rows of the linear model."""
    problem = Problem.of(LINEAR.model, LINEAR.prior, series)
    return Reference.of_grid(LINEAR_GRID, linear_reference(problem, LINEAR_GRID))


def against_fresh(stream: Stream, seed: int, options: MCMC) -> float:
    """Total variation to fresh MCMC on the same kernel."""
    z = np.log(stream.posterior.sample(seed=seed, options=options)["Q"]).ravel().astype(np.float64)
    cuts = np.quantile(z, np.arange(1, NUM_BINS) / NUM_BINS)
    return binned_variation(stream.cloud.z[:, 0].astype(np.float64), stream.cloud.weights, cuts)
