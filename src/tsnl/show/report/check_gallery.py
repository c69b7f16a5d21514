"""Which pictures the checks of a result have, and what can be read from them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tsnl.checks import OneStep, Report, Verdict
from tsnl.checks.checks import learned_likelihood
from tsnl.methods.api import Inference
from tsnl.show.plots import (
    Bands,
    acf_figure,
    chains_figure,
    pit_figure,
    replicates_figure,
    windows_figure,
)
from tsnl.show.report.facts import left_out
from tsnl.show.report.pictures import Picture, take

MOST_SUMMARIES = 20  # those with the smallest p-values


def check_pictures(
    result: Inference, checks: Report, one: OneStep | None, most: int
) -> dict[str, Picture]:
    """Name of a check to its picture.

    Args:
        result: a `Result`.
        checks: what the checks said, and the figures that it rests on.
        one: one-step-ahead values, where there is a kernel of rows.
        most: columns and coordinates to draw.
    """
    draw: dict[str, Callable[[Verdict], Picture | None]] = {
        "sampler": lambda _: _sampler(result, most),
        "windows": lambda verdict: _windows(result, verdict),
        "replicates": lambda verdict: _replicates(result, verdict),
    }
    if one is not None:
        draw["one step ahead"] = lambda _: _one_step(result, one, most)
        draw["lag"] = lambda _: _lag(result)
    found = {v.name: draw[v.name](v) for v in checks if v.name in draw}
    return {name: picture for name, picture in found.items() if picture is not None}


def _one_step(result: Inference, one: OneStep, most: int) -> Picture:
    caption = "Left, where the rows fall in their predictive distributions; right, the same summed up. "
    caption += "Bars and line stay in the bands in 95 of 100 runs where all is right."
    caption += left_out(most, result.problem.d_y, "columns")
    alt = f"Histogram and distribution function of {len(one.time):,} probability integral transforms."
    pit, names = one.pit[:, :most], result.problem.names[:most]
    return take("pit", lambda dark: pit_figure(pit, names=names, dark=dark), alt, caption)


def _lag(result: Inference) -> Picture | None:
    likelihood, rows = learned_likelihood(result), result.problem.series
    if likelihood is None or not np.isfinite(rows).all() or "simulated.series" not in result.arrays:
        return None
    lag = likelihood.kernel.spec.lag
    return take(
        "acf",
        _acf(rows, lag, _last_round(result)),
        f"Autocorrelation norms of the observed series; the lag is {lag}.",
        "How long the series remembers, beside the simulations of the last round. Left of the dashed "
        "line the kernel sees rows one by one.",
    )


def _acf(rows: np.ndarray, lag: int, simulated: np.ndarray | None) -> Callable[[bool], Any]:
    last = min(max(3 * lag, 20), len(rows) - 1)
    return lambda dark: acf_figure(rows, lag, simulated=simulated, max_lag=last, dark=dark)


def _last_round(result: Inference) -> np.ndarray | None:
    round_ = result.arrays["simulated.round"]
    series = result.arrays["simulated.series"][round_ == round_.max()].astype(float)
    series = series[np.isfinite(series).all(axis=(1, 2))]
    return series if len(series) >= 5 else None


def _sampler(result: Inference, most: int) -> Picture | None:
    """Traces and ranks, where there are several chains."""
    draws = dict(list(result.coordinates().items())[:most])
    chains, steps = result.log_density.shape
    if chains < 2 or steps < 50:
        return None
    alt = f"Traces and ranks of {chains} chains of {steps:,} draws."
    caption = "Left, the chains; right, how their draws rank among those of all chains: chains that "
    caption += "agree stay near the band."
    caption += left_out(most, result.problem.prior.size, "parameters")
    return take("chains", lambda dark: chains_figure(draws, dark=dark), alt, caption)


def _windows(result: Inference, verdict: Verdict) -> Picture | None:
    figures = verdict.figures
    if not {"times", "distances", "usual"} <= set(figures):
        return None
    distances = [float("nan") if x is None else x for x in figures["distances"]]
    rows, usual, far = figures["times"], figures["usual"], figures["far"]
    caption = "How far each window, a row with those before it, lies from its nearest simulated ones. "
    caption += f"Circled: {len(far)} beyond 99 % of simulated windows."
    alt = f"Distances of the observed windows; {len(far)} are far."
    times = result.problem.when

    def draw(dark: bool) -> Any:
        return windows_figure(rows, distances, usual, times=times, dark=dark)

    return take("windows", draw, alt, caption)


def _replicates(result: Inference, verdict: Verdict) -> Picture | None:
    figures, problem = verdict.figures, result.problem
    if "bands" not in figures:
        return None
    quantiles = np.array(figures["bands"]["quantiles"])
    bands = Bands(figures["bands"]["times"], quantiles, problem.names[: quantiles.shape[2]])
    first = sorted(figures["p_values"], key=lambda name: figures["p_values"][name])[:MOST_SUMMARIES]
    observed = {name: value for name, value in figures["observed"].items() if name in first}
    caption = f"The series over {figures['replicates']:,} whole series simulated at the posterior, and "
    caption += "the observed summaries over what 90 % of theirs are. A series that leaves the bands for "
    caption += "long is unlike those of the model."
    caption += left_out(quantiles.shape[2], problem.d_y, "columns", more=False)
    caption += left_out(len(observed), len(figures["observed"]), "summaries", more=False)
    alt = f"The observed series over bands of simulated ones, and {len(observed)} summaries."

    def draw(dark: bool) -> Any:
        given: dict[str, Any] = {"times": problem.when, "dark": dark}
        return replicates_figure(problem.series, bands, observed, figures["interval"], **given)

    return take("replicates", draw, alt, caption)
