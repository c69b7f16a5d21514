r"""What a run is worth: errors against the truth, and the distance to the reference posterior.

The distance is, for one parameter, the total variation over bins of equal mass of the reference,
\(\frac12 \sum_b |\hat q_b - 1/B|\); for several, the sliced Wasserstein distance of order 2 in
unconstrained coordinates, in units of the reference's standard deviations (it takes samples of any size
and does not saturate, as a classifier's accuracy does). A learned posterior of one parameter is
integrated on a grid: more draws of it cost no simulation, so that their noise is no part of its error.
Of methods that simulate for every draw, such as ABC and particle MCMC, it is.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from paper.problems import PROBLEMS, Setting
from paper.references import FINE, Reference, density, on_grid, quantiles, reference
from paper.trial import Row, Trial
from tsnl.evaluate.metrics import errors, sliced_wasserstein
from tsnl.inference import infer
from tsnl.methods.api import Method
from tsnl.posterior import Posterior
from tsnl.problem.draws import constrained
from tsnl.result import Result

NUM_BINS = 10
TV, WASSERSTEIN = "total variation", "sliced Wasserstein"


@dataclass(frozen=True)
class Found:
    """The result of a trial, and the row that it gives."""

    result: Result
    row: Row


def solve(trial: Trial, method: Method, references: Path) -> Found:
    """Infer, and measure what comes out."""
    setting = PROBLEMS[trial.problem]
    problem = setting.observe(trial.seed)
    right = reference(trial.problem, trial.seed, references, trial.quick)
    start = time.perf_counter()
    result = infer(problem.model, problem.prior, problem.series, method, seed=trial.seed, progress=False)
    row = {"cost": result.cost, "seconds": time.perf_counter() - start}
    z = unconstrained(result)
    row |= measure(setting, z, right, result.posterior)
    return Found(result, row)


def unconstrained(result: Result) -> Float[np.ndarray, "n size"]:
    """All draws of z, chains end to end."""
    import jax

    flat = {name: x.reshape(-1, *x.shape[2:]) for name, x in result.draws.items()}
    return np.asarray(jax.jit(jax.vmap(result.problem.prior.unconstrain))(flat), dtype=np.float64)


def measure(
    setting: Setting,
    z: Float[np.ndarray, "n size"],
    right: Reference,
    posterior: Posterior | None = None,
) -> Row:
    """The five errors against the truth, and the distance to the reference."""
    theta = constrained(setting.prior, z[None])
    draws = np.asarray(setting.prior.coordinates(theta), dtype=np.float64)[0]
    truth = np.asarray(setting.prior.coordinates(setting.truth), dtype=np.float64)
    kind = TV if len(right.grid) else WASSERSTEIN
    return {
        **errors(draws, truth),
        "distance": distance(z, right, posterior),
        "distance_kind": kind,
    }


def distance(
    z: Float[np.ndarray, "n size"], right: Reference, posterior: Posterior | None = None
) -> float:
    """From draws, or from a posterior density where there is one, to the reference; see the module."""
    if not len(right.grid):
        return sliced_wasserstein(right.draws, z, scale=right.draws.std(axis=0))
    cuts = equal_cuts(right, NUM_BINS)
    if posterior is None:
        return binned_variation(z[:, 0], np.full(len(z), 1 / len(z)), cuts)
    low, high = right.grid[0], right.grid[-1]
    wide = np.linspace(low - (high - low) / 2, high + (high - low) / 2, 600)  # a poor one may be off it
    fine = np.linspace(wide[0], wide[-1], 2 * FINE)
    p = density(np.interp(fine, wide, log_density(posterior, wide)))
    return binned_variation(fine, p / p.sum(), cuts)


def log_density(
    posterior: Posterior, grid: Float[np.ndarray, " points"]
) -> Float[np.ndarray, " points"]:
    """On a grid, next to nothing where it is not finite."""
    found = np.asarray(on_grid(posterior.log_density, grid), dtype=float)
    return np.nan_to_num(found, nan=-1e6, neginf=-1e6)


def equal_cuts(right: Reference, num_bins: int) -> Float[np.ndarray, " cuts"]:
    """Where to cut the reference of one parameter into bins of equal mass."""
    return quantiles(right.grid, right.log_p, np.arange(1, num_bins) / num_bins)


def binned_variation(
    z: Float[np.ndarray, " n"], weights: Float[np.ndarray, " n"], cuts: Float[np.ndarray, " cuts"]
) -> float:
    """Total variation between weighted points and a law whose bins between the cuts have equal mass."""
    shares = np.bincount(np.searchsorted(cuts, z), weights, minlength=len(cuts) + 1)
    return float(0.5 * np.abs(shares - 1 / len(shares)).sum())


def exact_row(trial: Trial, references: Path, num_draws: int) -> Row:
    """What as many independent draws of the reference itself would get: the least that can be seen."""
    right = reference(trial.problem, trial.seed, references, trial.quick)
    rng: Any = np.random.default_rng(trial.seed)
    z = right.draws[rng.integers(len(right.draws), size=num_draws)]
    return {"cost": 0, "seconds": 0.0, **measure(PROBLEMS[trial.problem], z, right)}
