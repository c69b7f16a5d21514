"""Are the posteriors of a method right? Ranks of the truth, expected coverage and random points."""

from tsnl.evaluate.calibration.coverage import central_coverage, density_coverage, tarp, tarp_ranks
from tsnl.evaluate.calibration.trials import (
    PosteriorDraws,
    Trials,
    ranks,
    refit,
    run_trials,
    seed_of,
    thin,
)

__all__ = [
    "PosteriorDraws",
    "Trials",
    "central_coverage",
    "density_coverage",
    "ranks",
    "refit",
    "run_trials",
    "seed_of",
    "tarp",
    "tarp_ranks",
    "thin",
]
