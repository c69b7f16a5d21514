"""Pictures of the checks: PIT values, predictive bands, learning curves and autocorrelations."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from tsnl.checks.uniformity import histogram_band, pit_ecdf
from tsnl.kernel.lag import acf_norms
from tsnl.problem.columns import shown_names
from tsnl.problem.times import Times
from tsnl.show.plots.along import along, label_time
from tsnl.show.plots.style import ABOVE, style

MAX_BINS = 20
FLAT = 2.0  # times the height of all the rest, above which a few bands are cut off


def pit_figure(
    pit: Float[np.ndarray, "rows d_y"],
    *,
    names: Sequence[str] = (),
    level: float = 0.95,
    dark: bool = False,
) -> Any:
    """Histogram and distribution function of PIT values, each with a band that holds all of it at once.

    Args:
        pit: one column for each component, as in `tsnl.checks.OneStep`.
        names: of the columns of the series.
        level: of the bands.
        dark: on dark paper.
    """
    import matplotlib.pyplot as plt  # slow to import

    num_rows, num_columns = pit.shape
    shown = shown_names(tuple(names), num_columns)
    num_bins = int(np.clip(num_rows // 5, 2, MAX_BINS))
    low, high = histogram_band(num_rows, num_bins, level)
    with style(dark) as palette:
        size = (7.0, 2.6 * num_columns)
        figure, panels = plt.subplots(num_columns, 2, figsize=size, layout="constrained", squeeze=False)
        for j, (left, right) in enumerate(panels):
            name = f"PIT of {shown[j]}"
            counts, edges = np.histogram(pit[:, j], num_bins, (0.0, 1.0))
            outside = (counts < low) | (counts > high)
            left.axhspan(low, high, color=palette.band, lw=0)
            colours = np.where(outside, palette.alert, palette.main).tolist()
            left.bar(edges[:-1], counts, 1 / num_bins, align="edge", color=colours, alpha=0.75, lw=0)
            left.set(xlabel=name, ylabel="rows", xlim=(0, 1), ylim=(0, 1.15 * max(counts.max(), high)))
            test = pit_ecdf(pit[:, j], level)
            right.fill_between(
                test.points, test.low - test.points, test.high - test.points, color=palette.band, lw=0,
                label=f"{level:.0%} band",
            )  # fmt: skip
            colour = palette.main if test.inside else palette.alert
            right.axhline(0.0, color=palette.faint, lw=0.8)
            right.plot(test.points, test.share - test.points, color=colour, lw=1.5)
            right.set(xlabel=name, ylabel="share − nominal", xlim=(0, 1))
            right.legend(loc="upper right")
    return figure


def series_figure(
    series: Float[np.ndarray, "T d_y"],
    draws: Float[np.ndarray, "n T d_y"] | None,
    *,
    surprising: Sequence[int] = (),
    label: str = "one step ahead",
    first: int = 1,
    names: Sequence[str] = (),
    times: Times | None = None,
    dark: bool = False,
) -> Any:
    """The observed series over bands of predictive draws that hold 50 % and 90 % of them at each row.

    A band that is far wider at a few rows than elsewhere, as before the first of them, leaves the
    picture there.

    Args:
        series: the observed rows.
        draws: of each row, one step ahead (`tsnl.checks.predictive_draws`) or of whole series;
            None for no bands.
        surprising: times t to mark.
        label: what the draws are.
        first: t of the first row.
        names: of the columns of the series.
        times: of all rows from t = 1 on, where they are known.
        dark: on dark paper.
    """
    import matplotlib.pyplot as plt

    time, d_y = along(times, first + np.arange(len(series))), series.shape[1]
    shown = shown_names(tuple(names), d_y)
    with style(dark) as palette:
        size = (7.0, 2.4 * d_y)
        figure, panels = plt.subplots(d_y, 1, figsize=size, layout="constrained", squeeze=False)
        for j, axes in enumerate(panels[:, 0]):
            if draws is not None:
                ends = np.nanquantile(draws[:, :, j], [0.05, 0.95], axis=0)
                axes.set_ylim(*view(series[:, j], ends)[:2])
                for share, alpha, name in ((0.9, 0.2, "90%"), (0.5, 0.45, f"50% {label}")):
                    ends = np.nanquantile(draws[:, :, j], [(1 - share) / 2, (1 + share) / 2], axis=0)
                    axes.fill_between(time, *ends, color=palette.main, alpha=alpha, lw=0, label=name)
            axes.plot(time, series[:, j], color=palette.ink, lw=1, marker=".", ms=3, label="observed")
            if len(surprising):
                there = np.asarray(surprising)
                rows = (along(times, there), series[there - first, j])
                axes.plot(*rows, "o", mfc="none", color=palette.alert)
            axes.set_ylabel(shown[j])
            label_time(axes, times)
        panels[0, 0].legend(ncols=3, handlelength=1.2, columnspacing=1.2, **ABOVE)
    return figure


def view(values: Float[np.ndarray, " T"], ends: Float[np.ndarray, "2 T"]) -> tuple[float, float, bool]:
    """What part of the vertical axis shows the series and its bands, and whether a band leaves it.

    All of both, unless some bands, those of a tenth of the rows at most, would make the others flat.
    """
    low, high = (float(x) for x in (np.nanmin([*values, *ends[0]]), np.nanmax([*values, *ends[1]])))
    usual = np.nanquantile(ends[0], 0.05), np.nanquantile(ends[1], 0.95)
    lower, upper = np.nanmin([*values, usual[0]]), np.nanmax([*values, usual[1]])
    cut = high - low > FLAT * (upper - lower)
    low, high = (float(lower), float(upper)) if cut else (low, high)
    margin = (0.15 if cut else 0.05) * (high - low) or 0.5
    return low - margin, high + margin, bool(cut)


def learning_figure(history: Sequence[Mapping[str, Any]], *, dark: bool = False) -> Any:
    """The held-out loss while the kernel was learned, one curve for each round, the last in full colour.

    Args:
        history: a result's records of rounds.
        dark: on dark paper.
    """
    import matplotlib.pyplot as plt

    with style(dark) as palette:
        figure, axes = plt.subplots(figsize=(5.0, 3.0), layout="constrained")
        for i, record in enumerate(history):
            losses = record["losses"]
            steps = np.arange(1, len(losses) + 1) * record["steps"] / max(len(losses), 1)
            last = i + 1 == len(history)
            axes.plot(
                steps, losses, lw=1.5 if last else 1, color=palette.main,
                alpha=1.0 if last else 0.4 + 0.3 * i / len(history), label=f"round {i + 1}",
            )  # fmt: skip
        axes.set(xlabel="step", ylabel="held-out loss of a row")
        axes.legend()
    return figure


def acf_figure(
    series: Float[np.ndarray, "T d_y"],
    lag: int,
    *,
    simulated: Float[np.ndarray, "n T d_y"] | None = None,
    max_lag: int | None = None,
    dark: bool = False,
) -> Any:
    """Autocorrelation norms of the observed series, with the chosen lag.

    Args:
        series: the observed rows.
        lag: L.
        simulated: series whose middle 90 % are drawn behind, such as replicates at the posterior.
        max_lag: the last lag to draw; None for a quarter of the series, and L at least.
        dark: on dark paper.
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import MaxNLocator

    last = max(len(series) // 4, lag + 1) if max_lag is None else max_lag
    last = min(last, len(series) - 1)
    lags = np.arange(last + 1)
    with style(dark) as palette:
        figure, axes = plt.subplots(figsize=(5.0, 3.0), layout="constrained")
        if simulated is not None:
            usable = [s for s in simulated if np.isfinite(s).all() and np.ptp(s) > 0]
            ends = np.quantile([acf_norms(s, last) for s in usable], [0.05, 0.95], axis=0)
            axes.fill_between(lags, *ends, color=palette.band, lw=0, label="90 % of the simulated")
        axes.vlines(lags, 0.0, acf_norms(series, last), color=palette.main, lw=2)
        axes.axvline(lag + 0.5, color=palette.ink, lw=1, ls="--", label=f"lag {lag}")
        axes.set(xlabel="lag", ylabel="autocorrelation norm", ylim=(0.0, None))
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
        axes.legend()
    return figure
