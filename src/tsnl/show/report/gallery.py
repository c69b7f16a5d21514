"""Which pictures a result has, and what can be read from them."""

from typing import Any

import numpy as np
from jaxtyping import Float

from tsnl.checks import OneStep, one_step_of, predictive_draws, surprising
from tsnl.checks.checks import learned_likelihood
from tsnl.checks.one_step import NUM_THINNED
from tsnl.checks.replicates import replicate
from tsnl.methods.api import Inference
from tsnl.methods.particle.second import BEFORE
from tsnl.problem.draws import constrained, thinned
from tsnl.problem.times import Times
from tsnl.runtime.seeds import key_of
from tsnl.show.plots import (
    learning_figure,
    marginal_figure,
    pair_figure,
    prior_draws,
    series_figure,
)
from tsnl.show.plots.diagnostics import view
from tsnl.show.report.facts import left_out, percent
from tsnl.show.report.pictures import Picture, take

MOST_PAIRS = 8  # more panels than 8 by 8 cannot be read
FEWEST_DRAWS, MOST_DRAWS = 40, 400  # predictive draws of each row
MOST_VALUES = 4_000_000  # of all rows together, where there are many
MOST_SHOWN = 2000  # rows of a long series that are drawn: the last ones


def one_step_values(result: Inference) -> OneStep | None:
    """What the kernel says of each row; None where there is no kernel of one row after the other."""
    likelihood = learned_likelihood(result)
    steps = likelihood is not None and not likelihood.kernel.spec.whole
    return one_step_of(result) if steps and len(result.problem.panel) == 1 else None


def data_pictures(
    result: Inference, one: OneStep | None, num_replicates: int, seed: int, most: int
) -> list[Picture]:
    """The observed series, over predictive bands where there are some.

    Args:
        result: a `Result`.
        one: its one-step-ahead values, where it has a kernel of rows.
        num_replicates: series to simulate where it has none.
        seed: of the draws.
        most: columns to draw.
    """
    panel = result.problem.panel
    silent = num_replicates == 0 or not result.problem.model.can_simulate
    if len(panel) > 1 or (silent and one is None):
        several = len(panel) > 1
        return [_plain(result, rows, i + 1 if several else None, most) for i, rows in enumerate(panel)]
    if one is not None:
        return [_one_step_bands(result, one, seed, most)]
    return [_replicate_bands(result, num_replicates, seed, most)]


def _plain(
    result: Inference, rows: Float[np.ndarray, "T d_y"], number: int | None, most: int
) -> Picture:
    which = "observed series" if number is None else f"observed series {number}"
    times = _times(result, number)
    alt = f"The {which}: {_size(rows, times)}."
    shown, names = rows[-MOST_SHOWN:, :most], result.problem.names[:most]
    start = len(rows) - len(shown)
    caption = alt + _rows_left_out(start, len(rows)) + left_out(most, rows.shape[1], "columns")

    def draw(dark: bool) -> Any:
        return series_figure(shown, None, first=start + 1, names=names, times=times, dark=dark)

    return take("series", draw, alt, caption)


def _times(result: Inference, number: int | None) -> Times | None:
    """Of a series, by its number from 1; None for the only one."""
    times = result.problem.times
    return times[0 if number is None else number - 1] if times else None


def _rows_left_out(start: int, length: int) -> str:
    return f" Only the last {length - start:,} of {length:,} rows are drawn." if start else ""


def _one_step_bands(result: Inference, one: OneStep, seed: int, most: int) -> Picture:
    rows = result.problem.series
    z = thinned(result.unconstrained(), NUM_THINNED)
    count = int(np.clip(MOST_VALUES // rows.size, FEWEST_DRAWS, MOST_DRAWS))
    likelihood = learned_likelihood(result)
    assert likelihood is not None
    draws = predictive_draws(key_of(seed), likelihood, z, count)
    odd = surprising(one)
    caption = "Each row over what the kernel expects of it, given the rows before: the bands hold "
    caption += f"{percent(0.5)} and {percent(0.9)}."
    if odd:
        times = ", ".join(_when(result.problem.when, t) for t in odd[:5])
        caption += f" Circled: {len(odd)} row(s) further out than any should be ({times})."
    return _bands(result, draws, "one step ahead", caption, odd, most)


def _replicate_bands(result: Inference, num_replicates: int, seed: int, most: int) -> Picture:
    z = thinned(result.unconstrained(), num_replicates)
    draws = replicate(key_of(seed), result.problem, z)
    draws = draws[np.isfinite(draws).all(axis=(1, 2))]
    rows = result.problem.series
    if not len(draws):
        return _plain(result, rows, None, most)
    caption = f"The series over {len(draws)} series simulated at the posterior: at each time the bands "
    caption += f"hold {percent(0.5)} and {percent(0.9)} of them."
    return _bands(result, draws, "of the simulated", caption, [], most)


def _bands(
    result: Inference, draws: np.ndarray, label: str, caption: str, odd: list[int], most: int
) -> Picture:
    rows = result.problem.series
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    seen = np.isfinite(rows)
    share = float(((rows >= low) & (rows <= high))[seen].mean())
    alt = f"The observed series, {_size(rows, result.problem.when)}, over predictive bands: "
    alt += f"{percent(share)} of the entries lie in the {percent(0.9)} band."
    start = max(len(rows) - MOST_SHOWN, 0)
    shown, drawn = rows[start:, :most], draws[:, start:, :most]
    marked = [t for t in odd if t > start]
    given: dict[str, Any] = {"first": start + 1, "names": result.problem.names[:most], "label": label}
    given["times"] = result.problem.when
    ends = np.stack([low, high])[:, start:]
    if any(view(shown[:, j], ends[:, :, j])[2] for j in range(shown.shape[1])):
        caption += " Where a band leaves the picture it is wider than drawn."
    caption += _rows_left_out(start, len(rows)) + left_out(most, rows.shape[1], "columns")
    caption += f" {percent(share)} of the observed entries lie in the {percent(0.9)} band."

    def draw(dark: bool) -> Any:
        return series_figure(shown, drawn, surprising=marked, dark=dark, **given)

    return take("series", draw, alt, caption)


def _when(times: Times | None, t: int) -> str:
    """A row, by its number and its time."""
    return f"t = {t}" if times is None else f"t = {t}, {times.text([t - 1])[0]}"


def _size(rows: Float[np.ndarray, "T d_y"], times: Times | None) -> str:
    missing = int(np.isnan(rows).sum())
    text = f"{len(rows):,} rows of {rows.shape[1]} column(s)"
    text += "" if times is None else f", {times.span(len(rows))}"
    return f"{text}, {missing:,} entries missing" if missing else text


def posterior_picture(result: Inference, most: int) -> Picture:
    """Marginals and pairs, with the prior; marginals alone where pairs could not be read."""
    found = dict(list(result.coordinates().items())[:most])
    before = prior_draws(result.problem.prior)
    prior = {label: before[label] for label in found}
    parts = [f"{label} {x.mean():.3g} ± {x.std():.2g}" for label, x in found.items()]
    alt = f"Marginals and pairs of the posterior beside the prior; means and sds: {'; '.join(parts)}."
    caption = "Posterior in colour, prior in grey, within the range of the posterior."
    caption += left_out(most, result.problem.prior.size, "parameters")

    def draw(dark: bool) -> Any:
        if len(found) > MOST_PAIRS:
            return marginal_figure(found, prior=prior, dark=dark)
        return pair_figure(found, prior=prior, dark=dark)

    return take("posterior", draw, alt, caption)


def correction_picture(result: Inference, most: int) -> Picture | None:
    """Each marginal before and after a correction, where there was one."""
    if BEFORE not in result.arrays:
        return None
    prior = result.problem.prior
    theta = constrained(prior, result.arrays[BEFORE])
    values = np.asarray(prior.coordinates(theta))
    after = dict(list(result.coordinates().items())[:most])
    before = {label: values[..., prior.labels.index(label)] for label in after}
    parts = [f"{label} {before[label].mean():.3g} to {x.mean():.3g}" for label, x in after.items()]
    alt = f"Marginals before and after the correction; means moved from {'; '.join(parts)}."
    caption = "Filled, the draws before the correction; outlined, as the exact likelihood has them."
    caption += left_out(most, prior.size, "parameters")
    names = ("before", "corrected")

    def draw(dark: bool) -> Any:
        return marginal_figure(before, after, names=names, dark=dark)

    return take("correction", draw, alt, caption)


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
