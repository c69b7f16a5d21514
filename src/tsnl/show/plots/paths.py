"""Pictures of states, forecasts and streams: bands along time."""

from typing import Any

import numpy as np
from jaxtyping import Float

from tsnl.problem.columns import shown_names
from tsnl.problem.times import Times
from tsnl.show.plots.along import along, label_time
from tsnl.show.plots.style import Palette, style

BANDS = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_BEFORE = 3  # horizons of the past that a forecast is drawn with, and no fewer than 30 rows


def states_figure(
    states: Any,
    truth: Float[np.ndarray, "T d_x"] | None = None,
    *,
    times: Times | None = None,
    dark: bool,
) -> Any:
    """A panel for each state: the middle 90 % and 50 %, the median, and the truth where it is known.

    Args:
        states: a `States`.
        truth: the true states.
        times: of the rows, where they are known.
        dark: on dark paper.
    """
    quantiles = states.quantiles(BANDS)
    time = along(times, np.arange(1, quantiles.shape[1] + 1))
    if truth is not None and truth.shape != quantiles.shape[1:]:
        raise ValueError(f"truth has shape {truth.shape}, expected {quantiles.shape[1:]}.")
    with style(dark) as palette:
        figure, panels = _panels(len(states.labels))
        for i, (axes, label) in enumerate(zip(panels, states.labels, strict=True)):
            _bands(axes, time, quantiles[..., i], palette)
            if truth is not None:
                axes.plot(time, truth[:, i], color=palette.truth, lw=1.2, label="truth")
            axes.set_ylabel(label)
        _finish(panels, times)
    return figure


def forecast_figure(
    forecast: Any, held_out: Float[np.ndarray, "steps d_y"] | None = None, *, dark: bool
) -> Any:
    """A panel for each column: the end of the series, then the middle 90 % and 50 % of what follows.

    Args:
        forecast: a `Forecast`.
        held_out: what came.
        dark: on dark paper.
    """
    quantiles = forecast.quantiles(BANDS)
    length, horizon = len(forecast.series), quantiles.shape[1]
    time = along(forecast.times, np.arange(1, length + horizon + 1))
    first = max(length - max(MOST_BEFORE * horizon, 30), 0)
    with style(dark) as palette:
        figure, panels = _panels(forecast.series.shape[1])
        for i, axes in enumerate(panels):
            before = (time[first:length], forecast.series[first:, i])
            axes.plot(*before, color=palette.ink, lw=1, marker=".", ms=3, label="observed")
            _bands(axes, time[length:], quantiles[..., i], palette)
            if held_out is not None:
                after = (time[length:][: len(held_out)], held_out[:, i])
                axes.plot(*after, color=palette.truth, lw=1.2, marker=".", ms=4, label="held out")
            axes.set_ylabel(shown_names(forecast.columns, len(panels))[i])
        _finish(panels, forecast.times)
    return figure


def stream_figure(stream: Any, *, dark: bool = False) -> Any:
    """A panel for each coordinate of theta as data arrive, and one of the new rows' log-scores.

    Args:
        stream: a `Stream`.
        dark: on dark paper.
    """
    bands = np.stack(stream.bands, axis=1)
    time = np.arange(len(stream.series) - bands.shape[1] + 1, len(stream.series) + 1)
    labels = stream.start.prior.labels
    with style(dark) as palette:
        figure, panels = _panels(len(labels) + 1)
        for i, (axes, label) in enumerate(zip(panels, labels, strict=False)):
            _bands(axes, time, bands[..., i], palette)
            axes.set_ylabel(label)
        outside = np.array([d > 1 for d in stream.distances], dtype=bool)
        scores = np.array(stream.scores)
        panels[-1].plot(time[1:], scores, color=palette.ink, lw=1, marker=".", ms=3)
        panels[-1].plot(time[1:][outside], scores[outside], ".", color=palette.alert, ms=6)
        panels[-1].set_ylabel("log-score")
        _finish(panels)
    return figure


def _bands(axes: Any, time: np.ndarray, quantiles: np.ndarray, palette: Palette) -> None:
    low, lower, median, upper, high = quantiles
    axes.fill_between(time, low, high, color=palette.main, alpha=0.18, lw=0, label="90 %")
    axes.fill_between(time, lower, upper, color=palette.main, alpha=0.3, lw=0, label="50 %")
    axes.plot(time, median, color=palette.main, lw=1.5, label="median")


def _panels(count: int) -> tuple[Any, list[Any]]:
    """A figure with so many panels above each other, along one time."""
    import matplotlib.pyplot as plt  # slow to import

    figure = plt.figure(figsize=(7.2, 0.6 + 2.2 * count), layout="constrained")
    panels: list[Any] = []
    for i in range(count):
        panels.append(figure.add_subplot(count, 1, i + 1, sharex=panels[0] if panels else None))
    return figure, panels


def _finish(panels: list[Any], times: Times | None = None) -> None:
    label_time(panels[-1], times)
    panels[0].legend(ncols=5, loc="best")
