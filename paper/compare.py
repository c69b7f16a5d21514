"""Figures out of tables: means over the series, paired differences, the cost of an accuracy."""

from collections.abc import Sequence

import numpy as np

from paper.figures import EXACT
from paper.table import numbers, where
from paper.trial import Row

Tables = dict[str, list[Row]]  # experiment to the rows of its finished trials

__all__ = ["EXACT", "Tables", "best", "largest", "means", "paired", "reached", "setting_means"]


class MissingTrialsError(ValueError):
    """The table does not have the trials that a measurement needs."""


def means(rows: Sequence[Row], method: str, metric: str) -> dict[int, float]:
    """Budget to the mean of a metric, budgets increasing.

    Raises:
        MissingTrialsError: no trial of the method.
    """
    here = where(rows, method=method)
    budgets = sorted({int(row["budget"]) for row in here})
    if not budgets:
        raise MissingTrialsError(f"no trial of {method}")
    return {b: float(np.nanmean(numbers(where(here, budget=b), metric))) for b in budgets}


def setting_means(rows: Sequence[Row], metric: str) -> dict[str, float]:
    """Setting to the mean of a metric.

    Raises:
        MissingTrialsError: no trial.
    """
    if not rows:
        raise MissingTrialsError("no trial")
    found: dict[str, list[float]] = {}
    for row, value in zip(rows, numbers(rows, metric), strict=True):
        found.setdefault(row["setting"], []).append(float(value))
    return {setting: float(np.mean(x)) for setting, x in found.items()}


def best(rows: Sequence[Row], method: str, metric: str) -> tuple[float, int]:
    """The least mean of a metric over the budgets of a method, and that budget."""
    found = means(rows, method, metric)
    budget = min(found, key=lambda b: found[b])
    return found[budget], budget


def reached(rows: Sequence[Row], method: str, metric: str, level: float) -> int | None:
    """The least budget whose mean is at or below a level."""
    return next((b for b, x in means(rows, method, metric).items() if x <= level), None)


def largest(rows: Sequence[Row]) -> list[Row]:
    """The rows of the largest budget.

    Raises:
        MissingTrialsError: there are none.
    """
    if not rows:
        raise MissingTrialsError("no trial")
    return where(rows, budget=max(int(row["budget"]) for row in rows))


def paired(
    rows: Sequence[Row], methods: tuple[str, str], budget: int, metric: str
) -> tuple[float, float]:
    """The mean difference of two methods over the series that both have, and its standard error."""
    values = []
    for method in methods:
        here = where(rows, method=method, budget=budget)
        values.append(dict(zip([r["seed"] for r in here], numbers(here, metric), strict=True)))
    shared = [seed for seed in values[0] if seed in values[1]]
    if not shared:
        raise MissingTrialsError(f"no series that both {methods[0]} and {methods[1]} have at {budget:,}")
    gaps = np.array([values[0][seed] - values[1][seed] for seed in shared])
    error = gaps.std(ddof=1) / len(gaps) ** 0.5 if len(gaps) > 1 else 0.0
    return float(gaps.mean()), float(error)
