"""Pictures of two checks: of replicates and their summaries, and of windows."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tsnl.problem.times import Times
from tsnl.show.plots.along import along, label_time
from tsnl.show.plots.style import ABOVE, Palette, style

FARTHEST = 5.0  # half intervals from the middle, where a summary beyond is drawn


class Bands(NamedTuple):
    """Whole series as bands.

    Attributes:
        times: t of each point.
        quantiles: of 5, 25, 75 and 95 %, (4, times, d_y).
        names: of the columns.
    """

    times: Sequence[int]
    quantiles: np.ndarray
    names: Sequence[str]


def replicates_figure(
    series: np.ndarray,
    bands: Bands,
    observed: Mapping[str, float],
    interval: Mapping[str, Sequence[float]],
    *,
    times: Times | None = None,
    dark: bool = False,
) -> Any:
    """The observed series over whole series simulated at the posterior, and summaries of both below.

    Args:
        series: the observed rows (T, d_y).
        bands: of the simulated series, with the names of the columns.
        observed: name of a summary to its value.
        interval: name of a summary to the quantiles of 5 and 95 % of the simulated ones.
        times: of the rows, where they are known.
        dark: on dark paper.
    """
    import matplotlib.pyplot as plt  # slow to import

    rows, time = series[np.asarray(bands.times) - 1], along(times, bands.times)
    with style(dark) as palette:
        count, below = len(bands.names), 0.8 + 0.24 * len(observed)
        figure = plt.figure(figsize=(7.0, 2.2 * count + below), layout="constrained")
        parts: Any = figure.subfigures(2, 1, height_ratios=[2.2 * count, below])
        for j, axes in enumerate(parts[0].subplots(count, 1, squeeze=False)[:, 0]):
            low, quarter, three, high = bands.quantiles[:, :, j]
            filled = {"color": palette.main, "lw": 0}
            axes.fill_between(time, low, high, alpha=0.2, label="90% of the simulated", **filled)
            axes.fill_between(time, quarter, three, alpha=0.4, label="50%", **filled)
            axes.plot(time, rows[:, j], color=palette.ink, lw=1, label="observed")
            axes.set_ylabel(bands.names[j])
            label_time(axes, times, shown=j + 1 == count)
            if j == 0:
                axes.legend(ncols=3, handlelength=1.2, columnspacing=1.2, **ABOVE)
        _summaries(parts[1].subplots(), observed, interval, palette)
    return figure


def _summaries(
    axes: Any, observed: Mapping[str, float], interval: Mapping[str, Sequence[float]], palette: Palette
) -> None:
    """Each observed summary in units of the interval that holds 90 % of the simulated ones."""
    names = list(observed)
    ends = np.array([interval[name] for name in names])
    middle, half = ends.mean(axis=1), np.diff(ends, axis=1)[:, 0] / 2
    values = np.array([observed[name] for name in names])
    place = ((values - middle) / (half + 1e-12 * (1 + np.abs(middle)))).clip(-FARTHEST, FARTHEST)
    axes.axvspan(-1, 1, color=palette.band, lw=0)
    axes.axvline(0, color=palette.faint, lw=0.8)
    y = np.arange(len(names))[::-1]
    colours = np.where(np.abs(place) > 1, palette.alert, palette.main).tolist()
    axes.scatter(place, y, c=colours, s=22, zorder=3)
    axes.set_yticks(y, names)
    limit = max(1.5, float(np.abs(place).max()) * 1.1)
    axes.set(xlim=(-limit, limit), ylim=(-0.7, len(names) - 0.3))
    axes.set_xlabel("in units of their 90 % band")


def windows_figure(
    rows: Sequence[int],
    distances: Sequence[float],
    typical: Mapping[str, float],
    *,
    times: Times | None = None,
    dark: bool = False,
) -> Any:
    """The distance of each observed window from its simulated neighbours, over what is usual.

    Args:
        rows: t of the last row of each window.
        distances: of each; NaN where the window has gaps.
        typical: the quantiles of simulated windows, by "50", "90" and "99".
        times: of the rows, where they are known.
        dark: on dark paper.
    """
    import matplotlib.pyplot as plt

    found = np.asarray(distances, dtype=float)
    far, time = found > typical["99"], along(times, rows)
    with style(dark) as palette:
        figure, axes = plt.subplots(figsize=(7.0, 2.4), layout="constrained")
        axes.axhspan(0, typical["90"], color=palette.band, lw=0, label="90% of simulated windows")
        axes.axhline(typical["99"], color=palette.faint, lw=1, ls="--", label="99%")
        axes.plot(time, found, color=palette.main, lw=1, marker=".", ms=3, label="observed")
        axes.plot(time[far], found[far], "o", mfc="none", color=palette.alert)
        axes.set(ylabel="distance", ylim=(0, None))
        label_time(axes, times)
        axes.legend(ncols=3, handlelength=1.2, columnspacing=1.2, **ABOVE)
    return figure
