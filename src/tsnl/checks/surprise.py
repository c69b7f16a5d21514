"""Is the observed series what the predictive kernel expects, row by row?"""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from tsnl.checks.one_step import OneStep
from tsnl.checks.uniformity import pit_ecdf
from tsnl.checks.verdict import LOOK_P, Verdict, adjusted, by_p_value, spoken
from tsnl.runtime.reader import option, remedy

NUM_SHUFFLES = 1999
MOST_VALUES = 1_000_000  # shuffled at a time
MAX_LAG = 10
LISTED = 5  # surprising rows named in the sentence


def dependence_p_value(pit: Float[np.ndarray, " rows"], rng: np.random.Generator) -> float:
    """The p-value of serial dependence: a weighted portmanteau statistic among those of shuffled rows.

    Of the values as normal scores, and of their sizes, so that a forgotten level and a forgotten
    volatility both show (Fisher and Gallagher, 2012, without their approximation of its law).
    """
    scores = ndtri(pit.clip(1e-6, 1 - 1e-6))
    max_lag = min(MAX_LAG, len(pit) // 4)
    if max_lag < 1:
        return 1.0
    p_values = []
    for x in (scores, np.abs(scores)):
        found, more = _portmanteau(x[None], max_lag)[0], 0
        for left in range(NUM_SHUFFLES, 0, -(together := 1 + MOST_VALUES // len(x))):
            shuffled = rng.permuted(np.tile(x, (min(together, left), 1)), axis=1)
            more += int((_portmanteau(shuffled, max_lag) >= found).sum())
        p_values.append((1 + more) / (1 + NUM_SHUFFLES))
    return adjusted(p_values)


def surprising(one: OneStep, level: float = LOOK_P) -> list[int]:
    """The times t at which some entry lies further out than any should, the worst first."""
    least = one.tail.min(axis=1)
    order = np.argsort(least, kind="stable")
    return [int(one.time[i]) for i in order if least[i] < level / one.tail.size]


def check_surprise(one: OneStep, lag: int, rng: np.random.Generator) -> Verdict:
    """PIT values uniform, independent, and none too far out."""
    columns = one.pit.T
    p_values = {
        "uniform": adjusted(pit_ecdf(column).p_value for column in columns),
        "independent": adjusted(dependence_p_value(column, rng) for column in columns),
        "extremes": float(min(1.0, one.tail.size * one.tail.min())),
    }
    p = adjusted(p_values.values())
    level = by_p_value(p)
    times = surprising(one)
    worst = min(p_values, key=lambda name: p_values[name])
    sentence, what_to_do = _words(level, worst, p, times, lag)
    figures: dict[str, Any] = {
        "p_value": p,
        "p_values": p_values,
        "surprising": times,
        "log_score": float(one.log_score.mean()),
        "lowest_log_scores": [int(t) for t in one.time[np.argsort(one.log_score)[:LISTED]]],
    }
    return Verdict("one step ahead", level, sentence, what_to_do, figures)


def _words(level: str, worst: str, p: float, times: list[int], lag: int) -> tuple[str, str]:
    if level == "pass":
        return f"One-step-ahead predictions are calibrated ({spoken(p)}).", ""
    if worst == "extremes":
        listed = ", ".join(map(str, times[:LISTED])) + (", ..." if len(times) > LISTED else "")
        return (
            f"Some rows are outliers of the predictive distribution ({spoken(p)}): t = {listed}.",
            "Inspect these rows: bad data, or noise with heavier tails than the model's.",
        )
    if worst == "independent":
        return (
            f"Prediction errors are autocorrelated ({spoken(p)}).",
            f"Raise lag to {2 * lag} ({option('lag', 2 * lag)}); if that does not help, the model's "
            f"dynamics are misspecified.",
        )
    more = remedy(python="result.refine(simulations=..., seed=...)", command="tsnl refine RUN")
    return (
        f"The predictive spread is wrong ({spoken(p)}).",
        f"Simulate more ({more}); if that does not help, the model's noise is misspecified.",
    )


def _portmanteau(x: Float[np.ndarray, "n T"], max_lag: int) -> Float[np.ndarray, " n"]:
    centred = x - x.mean(axis=1, keepdims=True)
    power = (centred**2).sum(axis=1) + 1e-300
    lags = np.arange(1, max_lag + 1)
    rho = np.stack([(centred[:, k:] * centred[:, :-k]).sum(axis=1) / power for k in lags])
    share = (max_lag + 1 - lags) / max_lag
    return (share[:, None] * rho**2 / (x.shape[1] - lags[:, None])).sum(axis=0)
