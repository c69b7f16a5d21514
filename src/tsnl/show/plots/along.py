"""The horizontal axis of pictures along time: rows counted from 1, numbers, or dates."""

from typing import Any

import numpy as np
from jaxtyping import Shaped

from tsnl.problem.times import Times


def along(times: Times | None, counts: Any) -> Shaped[np.ndarray, " n"]:
    """Where rows, counted from 1, are drawn: at their times where these are known."""
    t = np.asarray(counts)
    return t if times is None else times.at(t - 1)


def label_time(axes: Any, times: Times | None, *, shown: bool = True) -> None:
    """Say what the axis is, and write dates as briefly as can be."""
    name = "t" if times is None else "date" if times.dated else "time"
    axes.set_xlabel(
        (f"{name}, {times.zone}" if times is not None and times.zone else name) if shown else ""
    )
    if times is not None and times.dated:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter  # slow to import

        locator = AutoDateLocator()
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
