"""What a run found, in figures that a page and its pictures are made of: plain JSON."""

from typing import Any

import numpy as np

from examples.gallery.analysis import SEED
from examples.gallery.steps import Run, distance, posterior, scores
from tsnl.show.plots import prior_draws

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
BINS = 40


def facts(run: Run) -> dict[str, Any]:
    """Everything that a page says or draws."""
    return {
        "seed": SEED,
        "rows": len(run.analysis.fitted),
        "held_out": run.analysis.held_out,
        "budget": run.analysis.budget,
        "cost": run.result.cost,
        "status": run.result.status,
        "checks": [
            {"name": v.name, "verdict": v.verdict, "sentence": v.sentence, "remedy": v.remedy}
            for v in run.report.verdicts
        ],
        "checks_cost": run.report.cost,
        "failures": len(run.result.failures),
        "posterior": posterior(run.result),
        "corrected": _corrected(run),
        "rival": _rival(run),
        "reference": _reference(run),
        "scores": scores(run),
        "prior": _prior(run),
        "states": _states(run),
        "histograms": histograms(run),
        "bands": bands(run),
        "extra": run.extra,
    }


def _corrected(run: Run) -> dict[str, Any] | None:
    if run.corrected is None:
        return None
    moved = distance(run.result, run.corrected)
    more = {"status": run.corrected.status, "cost": run.corrected.cost}
    return more | moved | {"posterior": posterior(run.corrected)}


def _rival(run: Run) -> dict[str, Any]:
    found = posterior(run.rival)
    return {
        "method": type(run.rival.method).__name__,
        "cost": run.rival.cost,
        "status": run.rival.status,
        "time_ratio": run.time_ratio,
        "cost_ratio": run.rival.cost / run.result.cost,
        "ess": min(row["ess"] for row in found.values()),
        "posterior": found,
    }


def _reference(run: Run) -> dict[str, Any] | None:
    """How far T-SNL is from what is right, before and after a correction."""
    if run.reference is None:
        return None
    found = {"method": type(run.reference.method).__name__, "tsnl": distance(run.result, run.reference)}
    found["posterior"] = posterior(run.reference)
    if run.corrected is not None:
        found["corrected"] = distance(run.corrected, run.reference)
    return found


def _prior(run: Run) -> dict[str, Any]:
    """How the observed rows lie among series of the prior, and how many of those are not finite."""
    whole = np.isfinite(run.before).all(axis=(1, 2))
    low, high = np.quantile(run.before[whole], [0.05, 0.95], axis=0)
    within = (low <= run.analysis.fitted) & (run.analysis.fitted <= high)
    return {"series": len(run.before), "not_finite": int((~whole).sum()), "inside_90": within.mean()}


def _states(run: Run) -> dict[str, Any] | None:
    """How many of the true states lie in their bands, where the truth is known."""
    if run.states is None or run.analysis.true_states is None:
        return None
    low, high = run.states.quantiles((0.05, 0.95))
    within = (low <= run.analysis.true_states) & (run.analysis.true_states <= high)
    return {"inside_90": dict(zip(run.states.labels, within.mean(axis=0).tolist(), strict=True))}


def histograms(run: Run) -> dict[str, Any]:
    """Label to densities of the prior, of T-SNL, and of what it is compared with, on common bins."""
    others = {"T-SNL": run.result, "corrected": run.corrected, _short(run): run.reference or run.rival}
    before, found = prior_draws(run.analysis.prior), {}
    for label in run.result.coordinates():
        draws = {n: np.ravel(r.coordinates()[label]) for n, r in others.items() if r is not None}
        ends = np.quantile(np.concatenate(list(draws.values())), [0.002, 0.998])
        margin = 0.15 * (ends[1] - ends[0])
        edges = np.linspace(ends[0] - margin, ends[1] + margin, BINS + 1)
        draws["prior"] = before[label]
        heights = {name: _density(values, edges) for name, values in draws.items()}
        found[label] = {"edges": edges, "densities": heights}
    return found


def _short(run: Run) -> str:
    return type((run.reference or run.rival).method).__name__


def _density(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    counts, _ = np.histogram(values, edges)
    return counts / len(values) / np.diff(edges)


def bands(run: Run) -> dict[str, Any]:
    """Quantiles of prior series, states and forecasts: level, then time, then column."""
    whole = run.before[np.isfinite(run.before).all(axis=(1, 2))]
    found: dict[str, Any] = {"prior": np.quantile(whole, LEVELS, axis=0), "prior_paths": whole[:3]}
    found["forecasts"] = {n: np.quantile(d, LEVELS, axis=0) for n, d in run.forecasts.items()}
    if run.states is not None:
        columns = np.moveaxis(run.states.quantiles(LEVELS), 2, 0)
        found["states"] = dict(zip(run.states.labels, columns, strict=True))
    return found


def rounded(value: Any) -> Any:
    """The same in plain lists and numbers of five digits, for JSON."""
    if isinstance(value, dict):
        return {str(name): rounded(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return rounded(value.tolist())
    if isinstance(value, bool | str | int | None):
        return value
    return float(f"{float(value):.5g}")
