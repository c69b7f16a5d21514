"""Forecasts without a mechanism: what a model must beat to be worth its trouble."""

import numpy as np
from jaxtyping import Float

from examples.gallery.analysis import Data

DRAWS = 500


def autoregression(
    data: Data, fitted: Float[np.ndarray, "T d_y"], horizon: int, seed: int
) -> Float[np.ndarray, "draw horizon d_y"]:
    """Futures of an AR(1) with a mean, by least squares, column by column; its errors are normal."""
    rng, rows = np.random.default_rng(seed), _there(data, fitted)
    draws = np.empty((DRAWS, horizon, rows.shape[1]))
    for j in range(rows.shape[1]):
        before = np.stack([np.ones(len(rows) - 1), rows[:-1, j]], axis=1)
        weights, *_ = np.linalg.lstsq(before, rows[1:, j], rcond=None)
        sd = np.sqrt(np.sum((rows[1:, j] - before @ weights) ** 2) / max(len(rows) - 3, 1))
        now = np.full(DRAWS, rows[-1, j])
        for t in range(horizon):
            now = weights[0] + weights[1] * now + sd * rng.normal(size=DRAWS)
            draws[:, t, j] = now
    return _back(data, draws)


def seasonal_naive(
    data: Data, fitted: Float[np.ndarray, "T d_y"], horizon: int, period: int, seed: int
) -> Float[np.ndarray, "draw horizon d_y"]:
    """Futures that repeat the last season, each row off by as much as a season was off before."""
    rng, rows = np.random.default_rng(seed), _there(data, fitted)
    sd = (rows[period:] - rows[:-period]).std(axis=0)
    place = np.arange(horizon)
    repeated = rows[len(rows) - period + place % period]
    grown = np.sqrt(1 + place // period)[:, None]  # the season after next is further away
    draws = repeated + sd * grown * rng.normal(size=(DRAWS, horizon, rows.shape[1]))
    return _back(data, draws)


def _there(data: Data, rows: np.ndarray) -> np.ndarray:
    """The scale that the forecast is made on."""
    if not data.log:
        return rows
    return np.log1p(rows) if data.integer else np.log(rows)


def _back(data: Data, draws: np.ndarray) -> np.ndarray:
    """The scale of the data, in whole numbers where they are counts."""
    if data.log:
        draws = np.expm1(draws) if data.integer else np.exp(draws)
    return np.maximum(np.round(draws), 0) if data.integer else draws
