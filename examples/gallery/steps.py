"""The steps that all analyses share: prior predictive, fit, checks, forecast, the field's method."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

import tsnl
from examples.gallery.analysis import SEED, Analysis
from examples.gallery.baselines import autoregression, seasonal_naive
from tsnl.checks.verdict import Report
from tsnl.evaluate.metrics import crps, inside
from tsnl.predict.states import States
from tsnl.sampling import diagnostics
from tsnl.simulation import simulate

PRIOR_SERIES = 200
OF_KERNEL = ("one step ahead", "windows", "lag", "budget")  # checks that a correction answers


@dataclass(frozen=True)
class Run:
    """Everything that a page shows.

    Attributes:
        analysis: what was asked.
        result: T-SNL's, with the default options.
        report: its checks.
        corrected: the exact posterior, where a check asked for it and the model has densities.
        rival: the field's method's result.
        time_ratio: the seconds that it took, in units of T-SNL's.
        reference: what the posterior is judged by, None where there is nothing.
        before: series simulated at draws of the prior.
        forecasts: name to futures.
        states: of the fitted rows, where the model has densities.
        extra: facts of this page alone.
    """

    analysis: Analysis
    result: tsnl.Result
    report: Report
    corrected: tsnl.Result | None
    rival: tsnl.Result
    time_ratio: float
    reference: tsnl.Result | None
    before: Float[np.ndarray, "n T d_y"]
    forecasts: dict[str, Float[np.ndarray, "draw horizon d_y"]]
    states: States | None
    extra: dict[str, Any] = field(default_factory=dict)


def run(
    analysis: Analysis, folder: Path, method: tsnl.Method | None = None, replicates: int = 199
) -> Run:
    """All steps; the method is T-SNL with a budget and nothing else, unless a test gives another.

    Inferences are kept in the folder: a run that was cut off goes on from there.
    """
    method = tsnl.TSNL(budget=analysis.budget) if method is None else method
    model = analysis.simulator
    before = prior_series(analysis, model)
    result, seconds = timed(model, analysis, method, folder / "tsnl")
    report = result.check(num_replicates=replicates)
    corrected = correct(analysis, result, report, folder / "corrected")
    rival, rival_seconds = timed(model, analysis, analysis.rival, folder / "rival")
    reference: tsnl.Result | None = rival if model.has_density else None
    if analysis.reference is not None:
        reference, _ = timed(model, analysis, analysis.reference, folder / "reference")
    states = result.states(seed=SEED) if model.has_density else None
    return Run(
        analysis,
        result,
        report,
        corrected,
        rival,
        rival_seconds / seconds,
        reference,
        before,
        forecasts(analysis, result),
        states,
        {} if analysis.extra is None else analysis.extra(analysis, result),
    )


def timed(
    model: Any, analysis: Analysis, method: tsnl.Method, folder: Path
) -> tuple[tsnl.Result, float]:
    """One inference and the seconds that it took, compilation and all."""
    given, clock = (model, analysis.prior, analysis.fitted, method), folder.with_suffix(".seconds")
    start = time.perf_counter()
    result = tsnl.infer(*given, seed=SEED, progress=False, folder=folder, resume=True)
    if not clock.exists():
        clock.write_text(str(time.perf_counter() - start))
    return result, float(clock.read_text())


def prior_series(analysis: Analysis, model: Any) -> Float[np.ndarray, "n T d_y"]:
    """Series at draws of the prior; NaN where a simulation failed."""
    theta = analysis.prior.sample(jax.random.key(SEED), PRIOR_SERIES)
    found = simulate(jax.random.key(SEED + 1), model, theta, len(analysis.fitted))
    return np.asarray(found.series)


def correct(analysis: Analysis, result: tsnl.Result, report: Report, folder: Path) -> tsnl.Result | None:
    """What the checks' remedies say where the model has densities: weigh by the right likelihood."""
    asked = any(v.verdict != "pass" for v in report.verdicts if v.name in OF_KERNEL)
    if not asked or not result.problem.model.has_density:
        return None
    given = {"seed": SEED + 1, "progress": False, "folder": folder, "resume": True}
    return result.correct(analysis.correction, **given)


def forecasts(analysis: Analysis, result: tsnl.Result) -> dict[str, Any]:
    """Name to futures of the held-out rows, by the model and by plain forecasts."""
    steps, given = analysis.held_out, (analysis.data, analysis.fitted, analysis.held_out)
    num_draws = analysis.futures
    found = {"T-SNL, by the kernel": result.forecast(steps, seed=SEED, num_draws=num_draws).draws}
    if result.problem.model.has_density:
        by_laws = result.forecast(steps, "simulator", seed=SEED, num_draws=num_draws)
        found["T-SNL, by the model's laws"] = by_laws.draws
    found["AR(1)"] = autoregression(*given, SEED)
    if analysis.period is not None:
        found[analysis.period_words] = seasonal_naive(*given, analysis.period, SEED)
    return found


def scores(run: Run) -> list[dict[str, Any]]:
    """CRPS and coverage of each forecast, all rows and columns together."""
    later = run.analysis.later
    return [
        {
            "name": name,
            "crps": float(crps(draws, later).mean()),
            "inside_50": float(inside(draws, later, 0.5).mean()),
            "inside_90": float(inside(draws, later, 0.9).mean()),
        }
        for name, draws in run.forecasts.items()
    ]


def posterior(result: tsnl.Result) -> dict[str, dict[str, float]]:
    """Label to mean, sd, interval, effective size and R-hat."""
    table = {}
    for label, draws in result.coordinates().items():
        low, high = np.quantile(draws, [0.05, 0.95])
        table[label] = {
            "mean": float(draws.mean()),
            "sd": float(draws.std()),
            "low": float(low),
            "high": float(high),
            "ess": float(diagnostics.ess(draws[..., None]).min()),
            "r_hat": float(diagnostics.r_hat(draws[..., None]).max()),
        }
    return table


def distance(one: tsnl.Result, other: tsnl.Result) -> dict[str, float]:
    """How far the means of a posterior are off in sds of the other, and the worst ratio of sds."""
    a, b = posterior(one), posterior(other)
    bias = [abs(a[x]["mean"] - b[x]["mean"]) / b[x]["sd"] for x in b]
    ratio = [a[x]["sd"] / b[x]["sd"] for x in b]
    return {"bias": max(bias), "sd_ratio": max(ratio, key=lambda r: abs(np.log(r)))}
