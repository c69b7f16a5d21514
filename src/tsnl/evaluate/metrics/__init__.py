"""How far draws lie from the truth, samples and densities from each other, and how good forecasts are.

Parameters enter as the vector of distinct constrained coordinates (`Prior.coordinates`), one row for
each draw.
"""

from tsnl.evaluate.metrics.forecasts import crps, energy_score, inside
from tsnl.evaluate.metrics.samples import (
    c2st,
    kolmogorov_smirnov,
    marginal_total_variation,
    sliced_wasserstein,
    squared_mmd,
    total_variation,
)
from tsnl.evaluate.metrics.truth import (
    bias,
    errors,
    kde_error,
    kde_error_bounds,
    min_distance,
    rmse,
    silverman,
    standard_deviation,
)

__all__ = [
    "bias",
    "c2st",
    "crps",
    "energy_score",
    "errors",
    "inside",
    "kde_error",
    "kde_error_bounds",
    "kolmogorov_smirnov",
    "marginal_total_variation",
    "min_distance",
    "rmse",
    "silverman",
    "sliced_wasserstein",
    "squared_mmd",
    "standard_deviation",
    "total_variation",
]
