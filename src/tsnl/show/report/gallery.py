"""Which pictures a result has, and what can be read from them."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from tsnl.checks import OneStep, one_step_of, predictive_draws, surprising
from tsnl.checks.checks import learned_likelihood
from tsnl.checks.one_step import NUM_THINNED
from tsnl.checks.replicates import replicate
from tsnl.methods.api import Inference
from tsnl.methods.particle.second import BEFORE
from tsnl.problem.draws import constrained, thinned
from tsnl.show.plots import (
    acf_figure,
    learning_figure,
    marginal_figure,
    pair_figure,
    pit_figure,
    prior_draws,
    series_figure,
)
from tsnl.show.report.facts import percent
from tsnl.show.report.pictures import Picture, take

MOST_COORDINATES = 8  # more panels than 8 by 8 cannot be read
MOST_COLUMNS = 8
FEWEST_DRAWS, MOST_DRAWS = 40, 400  # predictive draws of each row
MOST_VALUES = 4_000_000  # of all rows together, where there are many
MOST_SHOWN = 2000  # rows of a long series that are drawn: the last ones


def one_step_values(result: Inference) -> OneStep | None:
    """What the kernel says of each row; None where there is no kernel of one row after the other."""
    likelihood = learned_likelihood(result)
    steps = likelihood is not None and not likelihood.kernel.spec.whole
    return one_step_of(result) if steps and len(result.problem.panel) == 1 else None


def data_pictures(
    result: Inference, one: OneStep | None, num_replicates: int, seed: int
) -> list[Picture]:
    """The observed series, over predictive bands where there are some.

    Args:
        result: a `Result`.
        one: its one-step-ahead values, where it has a kernel of rows.
        num_replicates: series to simulate where it has none.
        seed: of the draws.
    """
    panel = result.problem.panel
    silent = num_replicates == 0 or not result.problem.model.can_simulate
    if len(panel) > 1 or (silent and one is None):
        return [_plain(rows, i if len(panel) > 1 else None) for i, rows in enumerate(panel)]
    if one is not None:
        return [_one_step_bands(result, one, seed)]
    return [_replicate_bands(result, num_replicates, seed)]


def _plain(rows: Float[np.ndarray, "T d_y"], number: int | None) -> Picture:
    which = "observed series" if number is None else f"observed series {number}"
    rows = rows[-MOST_SHOWN:, :MOST_COLUMNS]
    alt = f"The {which}: {_size(rows)}."
    return take("series", lambda dark: series_figure(rows, None, dark=dark), alt, alt)


def _one_step_bands(result: Inference, one: OneStep, seed: int) -> Picture:
    rows = result.problem.series
    z = thinned(result.unconstrained(), NUM_THINNED)
    count = int(np.clip(MOST_VALUES // rows.size, FEWEST_DRAWS, MOST_DRAWS))
    likelihood = learned_likelihood(result)
    assert likelihood is not None
    draws = predictive_draws(jax.random.key(seed), likelihood, z, count)
    odd = surprising(one)
    caption = "Each row over what the kernel expects of it, given the rows before: the bands hold "
    caption += f"{percent(0.5)} and {percent(0.9)}."
    if odd:
        times = ", ".join(f"t = {t}" for t in odd[:5])
        caption += f" Circled: {len(odd)} row(s) further out than any should be ({times})."
    return _bands(rows, draws, "one step ahead", caption, odd)


def _replicate_bands(result: Inference, num_replicates: int, seed: int) -> Picture:
    z = thinned(result.unconstrained(), num_replicates)
    draws = replicate(jax.random.key(seed), result.problem, z)
    draws = draws[np.isfinite(draws).all(axis=(1, 2))]
    rows = result.problem.series
    if not len(draws):
        return _plain(rows, None)
    caption = f"The series over {len(draws)} series simulated at the posterior: at each time the bands "
    caption += f"hold {percent(0.5)} and {percent(0.9)} of them."
    return _bands(rows, draws, "of the simulated", caption, [])


def _bands(
    rows: Float[np.ndarray, "T d_y"], draws: np.ndarray, label: str, caption: str, odd: list[int]
) -> Picture:
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    seen = np.isfinite(rows)
    share = float(((rows >= low) & (rows <= high))[seen].mean())
    alt = f"The observed series, {_size(rows)}, over predictive bands: {percent(share)} of the entries "
    alt += f"lie in the {percent(0.9)} band."
    start = max(len(rows) - MOST_SHOWN, 0)
    shown, drawn = rows[start:, :MOST_COLUMNS], draws[:, start:, :MOST_COLUMNS]
    marked = [t for t in odd if t > start]
    if start:
        caption += f" Only the last {MOST_SHOWN:,} of {len(rows):,} rows are drawn."
    caption += f" {percent(share)} of the observed entries lie in the {percent(0.9)} band."

    def draw(dark: bool) -> Any:
        return series_figure(shown, drawn, surprising=marked, label=label, first=start + 1, dark=dark)

    return take("series", draw, alt, caption)


def _size(rows: Float[np.ndarray, "T d_y"]) -> str:
    missing = int(np.isnan(rows).sum())
    text = f"{len(rows):,} rows of {rows.shape[1]} column(s)"
    return f"{text}, {missing:,} entries missing" if missing else text


def posterior_picture(result: Inference) -> Picture:
    """Marginals and pairs, with the prior."""
    found = dict(list(result.coordinates().items())[:MOST_COORDINATES])
    before = prior_draws(result.problem.prior)
    prior = {label: before[label] for label in found}
    parts = [f"{label} {x.mean():.3g} ± {x.std():.2g}" for label, x in found.items()]
    alt = f"Marginals and pairs of the posterior beside the prior; means and sds: {'; '.join(parts)}."
    caption = "Posterior in colour, prior in grey, within the range of the posterior."
    if result.problem.prior.size > MOST_COORDINATES:
        caption += f" The first {MOST_COORDINATES} of {result.problem.prior.size} coordinates."
    return take("posterior", lambda dark: pair_figure(found, prior=prior, dark=dark), alt, caption)


def correction_picture(result: Inference) -> Picture | None:
    """Each marginal before and after a correction, where there was one."""
    if BEFORE not in result.arrays:
        return None
    prior = result.problem.prior
    theta = constrained(prior, result.arrays[BEFORE])
    values = np.asarray(prior.coordinates(theta))
    after = dict(list(result.coordinates().items())[:MOST_COORDINATES])
    before = {label: values[..., prior.labels.index(label)] for label in after}
    parts = [f"{label} {before[label].mean():.3g} to {x.mean():.3g}" for label, x in after.items()]
    alt = f"Marginals before and after the correction; means moved from {'; '.join(parts)}."
    caption = "Filled, the draws before the correction; outlined, as the exact likelihood has them."
    names = ("before", "corrected")

    def draw(dark: bool) -> Any:
        return marginal_figure(before, after, names=names, dark=dark)

    return take("correction", draw, alt, caption)


def check_pictures(result: Inference, one: OneStep | None) -> dict[str, Picture]:
    """Name of a check to its picture."""
    if one is None:
        return {}
    rows, likelihood = result.problem.series, learned_likelihood(result)
    assert likelihood is not None
    lag = likelihood.kernel.spec.lag
    caption = "Left, where the rows fall in their predictive distributions; right, the same summed up. "
    caption += "Bars and line stay in the bands in 95 of 100 runs where all is right."
    alt = f"Histogram and distribution function of {len(one.time):,} probability integral transforms."
    pit = one.pit[:, :MOST_COLUMNS]
    found = {"one step ahead": take("pit", lambda dark: pit_figure(pit, dark=dark), alt, caption)}
    if np.isfinite(rows).all() and "simulated.series" in result.arrays:
        found["lag"] = take(
            "acf",
            _acf(rows, lag, _last_round(result)),
            f"Autocorrelation norms of the observed series; the lag is {lag}.",
            "How long the series remembers, beside the simulations of the last round. Left of the "
            "dashed line the kernel sees rows one by one.",
        )
    return found


def _acf(rows: np.ndarray, lag: int, simulated: np.ndarray | None) -> Callable[[bool], Any]:
    last = min(max(3 * lag, 20), len(rows) - 1)
    return lambda dark: acf_figure(rows, lag, simulated=simulated, max_lag=last, dark=dark)


def _last_round(result: Inference) -> np.ndarray | None:
    round_ = result.arrays["simulated.round"]
    series = result.arrays["simulated.series"][round_ == round_.max()].astype(float)
    series = series[np.isfinite(series).all(axis=(1, 2))]
    return series if len(series) >= 5 else None


def learning_picture(result: Inference) -> Picture | None:
    """Held-out losses, where a kernel was learned."""
    history = [record for record in result.history if record.get("losses")]
    if not history:
        return None
    losses = ", ".join(f"{record['loss']:.3f}" for record in history)
    alt = f"Held-out loss of a row while learning, one curve for each round; at the end {losses}."
    caption = "Negative log-density of held-out rows. A round learns from its own simulations and all "
    caption += "before, so curves of different rounds are not of the same rows."
    return take("learning", lambda dark: learning_figure(history, dark=dark), alt, caption)
