"""Does the model, at the posterior, make series like the observed one?"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.checks.verdict import LOOK_P, Verdict, by_p_value, spoken
from tsnl.problem import Problem
from tsnl.problem.columns import shown_names

MOST_TIMES, MOST_COLUMNS = 500, 8  # of the bands that are kept for a picture
Summary = Callable[[Float[np.ndarray, " T"]], float]


def autocorrelation(y: Float[np.ndarray, " T"], lag: int) -> float:
    """The sample autocorrelation of one lag."""
    centred = y.astype(np.float64) - y.mean()
    return float((centred[lag:] * centred[: len(y) - lag]).sum() / ((centred**2).sum() + 1e-300))


SUMMARIES: dict[str, Summary] = {
    "mean": lambda y: float(y.mean()),
    "sd": lambda y: float(y.std()),
    "lag-1 autocorrelation": lambda y: autocorrelation(y, 1),
    "lag-5 autocorrelation": lambda y: autocorrelation(y, min(5, len(y) - 1)),
    "minimum": lambda y: float(y.min()),
    "maximum": lambda y: float(y.max()),
    "largest step": lambda y: float(np.abs(np.diff(y)).max()),
}


def replicate(
    key: Key[Array, ""], problem: Problem, z: Float[np.ndarray, "n size"]
) -> Float[np.ndarray, "n T d_y"]:
    """One series simulated at each of some posterior draws; it costs n T calls of the dynamics."""
    theta = problem.prior.constrain_all(z)
    return problem.simulate(key, theta).series


def summarise(
    series: Float[np.ndarray, "n T d_y"], summaries: Mapping[str, Summary], columns: Sequence[str] = ()
) -> dict[str, Float[np.ndarray, " n"]]:
    """Name to value for each series; with the name of the column where there are several."""
    d_y = series.shape[2]
    names = shown_names(tuple(columns), d_y)
    return {
        name if d_y == 1 else f"{name} of {names[j]}": np.array([float(fn(y)) for y in series[:, :, j]])
        for j in range(d_y)
        for name, fn in summaries.items()
    }


def adjusted_p_values(
    observed: Float[np.ndarray, " k"], replicated: Float[np.ndarray, "n k"]
) -> Float[np.ndarray, " k"]:
    """Two-sided p-values of k summaries, adjusted for their number by the replicates themselves.

    The distance of a summary from the median, in units of the spread on its side, is compared with the
    largest such distance of every replicate (Westfall and Young, 1993).
    """
    both = np.concatenate([observed[None], replicated])
    low, middle, high = np.quantile(both, [0.05, 0.5, 0.95], axis=0)
    side = np.where(both >= middle, high - middle, middle - low)
    far = np.abs(both - middle) / (side + 1e-12 * (1 + np.abs(middle)))
    largest = far.max(axis=1)
    return np.array([(largest[1:] >= x).sum() + 1 for x in far[0]]) / len(both)


def bands(series: Float[np.ndarray, "n T d_y"]) -> dict[str, Any]:
    """Quantiles of whole series at some of their times, ready for JSON."""
    times = np.unique(np.linspace(1, series.shape[1], min(series.shape[1], MOST_TIMES)).round()).astype(
        int
    )
    shown = series[:, times - 1, :MOST_COLUMNS]
    found = np.quantile(shown, [0.05, 0.25, 0.75, 0.95], axis=0)
    return {"times": times.tolist(), "quantiles": found.tolist()}


def check_replicates(
    series: Float[np.ndarray, "T d_y"],
    replicates: Float[np.ndarray, "n T d_y"],
    summaries: Mapping[str, Summary],
    columns: Sequence[str] = (),
) -> Verdict:
    """Summaries of the observed series among those of the replicates.

    Args:
        series: the observed rows.
        replicates: series simulated at the posterior.
        summaries: name to function of one column.
        columns: their names; as Python counts them where there are none.
    """
    whole = np.isfinite(replicates).all(axis=(1, 2))
    failed = int((~whole).sum())
    if whole.sum() < 20:
        sentence = f"{failed} of {len(replicates)} series simulated at the posterior failed."
        remedy = "Look at the simulator at draws of the posterior."
        return Verdict("replicates", "fail", sentence, remedy, {"failed": failed})
    there = np.isfinite(series).all(axis=1)  # rows that are missing are left out of all
    found = summarise(series[None, there], summaries, columns)
    others = summarise(replicates[whole][:, there], summaries, columns)
    observed = np.array([x[0] for x in found.values()])
    p_values = adjusted_p_values(observed, np.stack(list(others.values()), axis=1))
    p = float(p_values.min())
    level = by_p_value(p)
    odd = [name for name, value in zip(found, p_values, strict=True) if value < LOOK_P]
    if level == "pass":
        sentence, remedy = (
            f"Posterior predictive summaries agree with the observed ones ({spoken(p)}).",
            "",
        )
    else:
        sentence = f"Posterior predictive summaries disagree in {', '.join(odd)} ({spoken(p)})."
        remedy = "If the other checks pass, the model is misspecified: change it."
    figures = {
        "p_value": p,
        "p_values": dict(zip(found, p_values.tolist(), strict=True)),
        "observed": dict(zip(found, observed.tolist(), strict=True)),
        "interval": {name: np.quantile(x, [0.05, 0.95]).tolist() for name, x in others.items()},
        "bands": bands(replicates[whole]),
        "replicates": len(replicates),
        "failed": failed,
        "cost": len(replicates) * len(series),
    }
    return Verdict("replicates", level, sentence, remedy, figures)
