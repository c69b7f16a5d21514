"""Pictures of a page, drawn from its figures alone."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.ticker
import numpy as np

from examples.gallery.analysis import Analysis, Data
from tsnl.show.plots import Palette, style

mpl.use("Agg")

WIDTH = 7.2
MODEL_FORECASTS = ("T-SNL, by the model's laws", "T-SNL, by the kernel")  # the first there is, is drawn


def draw_all(analysis: Analysis, figures: dict[str, Any], folder: Path) -> None:
    """Every picture of a page, and its thumbnail."""
    bands = figures["bands"]
    _save(data_figure(analysis), folder / f"{analysis.name}-data.svg")
    _save(prior_figure(analysis, bands), folder / f"{analysis.name}-prior.svg")
    _save(posterior_figure(analysis, figures), folder / f"{analysis.name}-posterior.svg")
    _save(forecast_figure(analysis, bands["forecasts"]), folder / f"{analysis.name}-forecast.svg")
    _save(thumbnail(analysis, bands["forecasts"]), folder / f"{analysis.name}-thumbnail.svg")
    if "states" in bands:
        _save(states_figure(analysis, bands["states"]), folder / f"{analysis.name}-states.svg")


def data_figure(analysis: Analysis) -> Any:
    """The series, the held-out rows in another colour."""
    data, end = analysis.data, len(analysis.fitted)
    with style() as palette:
        figure, panels = _panels(len(data.columns), 1.9)
        for j, axes in enumerate(panels):
            axes.plot(data.time[:end], data.rows[:end, j], **_line(palette.ink), label="fitted")
            axes.plot(data.time[end:], data.rows[end:, j], **_line(palette.truth), label="held out")
            _name(axes, analysis, j)
            _scale(axes, analysis)
        _finish(panels, data)
    return figure


def prior_figure(analysis: Analysis, bands: dict[str, Any]) -> Any:
    """What the prior expects, three of its series, and what was seen."""
    data, end = analysis.data, len(analysis.fitted)
    quantiles, paths = np.array(bands["prior"]), np.array(bands["prior_paths"])
    with style() as palette:
        figure, panels = _panels(len(data.columns), 2.1)
        for j, axes in enumerate(panels):
            _bands(axes, data.time[:end], quantiles[..., j], palette.faint, "prior")
            for i, path in enumerate(paths):
                label = "three of its series" if i == 0 else None
                axes.plot(data.time[:end], path[:, j], color=palette.main, lw=0.8, label=label)
            axes.plot(data.time[:end], data.rows[:end, j], **_line(palette.ink), label="observed")
            _name(axes, analysis, j)
            _scale(axes, analysis)
            _within(axes, quantiles[..., j], data.rows[:end, j], analysis)
        _finish(panels, data)
    return figure


def posterior_figure(analysis: Analysis, figures: dict[str, Any]) -> Any:
    """Marginals of every parameter: prior, T-SNL, the exact or the field's answer."""
    import matplotlib.pyplot as plt

    found = figures["histograms"]
    columns = min(len(found), 3)
    rows = -(-len(found) // columns)
    with style() as palette:
        figure = plt.figure(figsize=(WIDTH, 0.5 + 1.9 * rows), layout="constrained")
        for i, (label, one) in enumerate(found.items()):
            axes = figure.add_subplot(rows, columns, i + 1)
            _marginal(axes, one, palette)
            if analysis.truth is not None:
                axes.axvline(analysis.truth[label], color=palette.ink, lw=1, ls="--", label="truth")
            axes.set(xlabel=label, yticks=[])
            axes.spines["left"].set_visible(False)
        handles, names = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=len(names))
    return figure


def _marginal(axes: Any, one: dict[str, Any], palette: Palette) -> None:
    edges, colours = np.array(one["edges"]), {"prior": palette.faint, "corrected": palette.alert}
    for name, heights in one["densities"].items():
        if name == "T-SNL":
            axes.stairs(heights, edges, fill=True, color=palette.main, alpha=0.5, label=name)
        else:
            axes.stairs(heights, edges, color=colours.get(name, palette.truth), lw=1.3, label=name)
    axes.set_xlim(edges[0], edges[-1])


def states_figure(analysis: Analysis, states: dict[str, Any]) -> Any:
    """Bands of the states behind the fitted rows, and the truth where it is known."""
    time = analysis.data.time[: len(analysis.fitted)]
    with style() as palette:
        figure, panels = _panels(len(states), 1.7)
        for j, (axes, (label, quantiles)) in enumerate(zip(panels, states.items(), strict=True)):
            _bands(axes, time, np.array(quantiles), palette.main, "state")
            if analysis.true_states is not None:
                axes.plot(time, analysis.true_states[:, j], color=palette.truth, lw=1, label="truth")
            axes.set_ylabel(label)
        _finish(panels, analysis.data)
    return figure


def forecast_figure(analysis: Analysis, forecasts: dict[str, Any]) -> Any:
    """The end of the series, what the model and an AR(1) foresaw, and what came."""
    data, end = analysis.data, len(analysis.fitted)
    first = max(end - max(3 * analysis.held_out, 20), 0)
    name = next(name for name in MODEL_FORECASTS if name in forecasts)
    quantiles, plain = np.array(forecasts[name]), np.array(forecasts["AR(1)"])
    with style() as palette:
        figure, panels = _panels(len(data.columns), 2.2)
        for j, axes in enumerate(panels):
            past, future = data.time[first:end], data.time[end:]
            axes.plot(past, data.rows[first:end, j], **_line(palette.ink), label="fitted")
            _bands(axes, future, quantiles[..., j], palette.main, "T-SNL")
            for k in (0, 4):
                label = "AR(1), 90 %" if k == 0 else None
                axes.plot(future, plain[k, :, j], color=palette.alert, lw=1, ls="--", label=label)
            axes.plot(future, data.rows[end:, j], **_line(palette.truth), label="held out")
            _name(axes, analysis, j)
            _scale(axes, analysis)
        _finish(panels, data)
    return figure


def thumbnail(analysis: Analysis, forecasts: dict[str, Any]) -> Any:
    """A small picture for the index: the first column and its forecast, without words."""
    import matplotlib.pyplot as plt

    data, end = analysis.data, len(analysis.fitted)
    name = next(name for name in MODEL_FORECASTS if name in forecasts)
    with style() as palette:
        figure = plt.figure(figsize=(2.6, 1.5), layout="constrained")
        axes = figure.add_subplot()
        axes.plot(data.time[:end], data.rows[:end, 0], color=palette.ink, lw=0.9)
        _bands(axes, data.time[end:], np.array(forecasts[name])[..., 0], palette.main, None)
        axes.plot(data.time[end:], data.rows[end:, 0], color=palette.truth, lw=1)
        _scale(axes, analysis)
        axes.set(xticks=[], yticks=[])
        axes.tick_params(which="minor", left=False)
    return figure


def _bands(axes: Any, time: Any, quantiles: np.ndarray, colour: str, name: str | None) -> None:
    low, lower, median, upper, high = quantiles
    named = [None] * 3 if name is None else [f"{name}: 90 %", "50 %", "median"]
    axes.fill_between(time, low, high, color=colour, alpha=0.2, lw=0, label=named[0])
    axes.fill_between(time, lower, upper, color=colour, alpha=0.3, lw=0, label=named[1])
    axes.plot(time, median, color=colour, lw=1.3, label=named[2])


def _line(colour: str) -> dict[str, Any]:
    return {"color": colour, "lw": 1, "marker": ".", "ms": 3.5}


def _name(axes: Any, analysis: Analysis, j: int) -> None:
    data = analysis.data
    axes.set_ylabel(data.unit if len(data.columns) == 1 else f"{data.columns[j]}, {data.unit}")


def _scale(axes: Any, analysis: Analysis) -> None:
    """Counts have a zero, so that their scale is logarithmic only above one."""
    if not analysis.data.log:
        return
    if analysis.data.integer:
        axes.set_yscale("symlog", linthresh=1.0)
        axes.set_ylim(bottom=0)
    else:
        axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")


def _within(axes: Any, quantiles: np.ndarray, rows: np.ndarray, analysis: Analysis) -> None:
    """Wild prior series may not squeeze the observed one into a line."""
    low, high = rows.min(), rows.max()
    span = high - low
    if not analysis.data.log:
        bottom, top = max(quantiles[0].min(), low - 3 * span), min(quantiles[-1].max(), high + 3 * span)
        axes.set_ylim(bottom, top)
    else:
        bottom = 0 if analysis.data.integer else max(quantiles[0].min(), low / 30)
        axes.set_ylim(bottom, min(quantiles[-1].max() * 2, 30 * high))


def _panels(count: int, height: float) -> tuple[Any, list[Any]]:
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(WIDTH, 0.7 + height * count), layout="constrained")
    panels: list[Any] = []
    for i in range(count):
        panels.append(figure.add_subplot(count, 1, i + 1, sharex=panels[0] if panels else None))
    return figure, panels


def _finish(panels: list[Any], data: Data) -> None:
    panels[-1].set_xlabel("" if data.time_name == "date" else data.time_name)
    if data.time.dtype.kind == "f":
        panels[-1].xaxis.set_major_locator(mpl.ticker.MaxNLocator(integer=True))
    for axes in panels[:-1]:
        axes.tick_params(labelbottom=False)
    figure = panels[0].figure
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names))


def _save(figure: Any, path: Path) -> None:
    """As SVG of few digits, the same to the byte each time."""
    import matplotlib.pyplot as plt

    with mpl.rc_context({"svg.hashsalt": path.stem, "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)
