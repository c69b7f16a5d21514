"""Pictures of models side by side."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from tsnl.show.plots.style import style


def models_figure(
    evidences: Mapping[str, tuple[float, float]],
    gaps: Mapping[str, Float[np.ndarray, " rows"]],
    first: int,
    *,
    dark: bool = False,
) -> Any:
    """Log-evidences below the best, with two standard errors; and how one-step scores part along time.

    Args:
        evidences: name to log-evidence and standard error.
        gaps: name to the sum of differences of scores to the best model so far; may be empty.
        first: rows before the first that is scored.
        dark: on dark paper.
    """
    import matplotlib.pyplot as plt  # slow to import

    names = sorted(evidences, key=lambda name: evidences[name][0])
    top = evidences[names[-1]][0]
    count = 2 if gaps else 1
    with style(dark) as palette:
        size = (4.2 * count, max(1.2 + 0.45 * len(names), 2.6))
        figure, axes = plt.subplots(1, count, figsize=size, layout="constrained", squeeze=False)
        left = axes[0, 0]
        values = [evidences[name][0] - top for name in names]
        errors = [2 * evidences[name][1] for name in names]
        left.errorbar(values, range(len(names)), xerr=errors, fmt="o", capsize=3, color=palette.main)
        left.axvline(0.0, color=palette.faint, lw=0.8)
        left.set(yticks=range(len(names)), yticklabels=names, xlabel="log-evidence, best at 0")
        left.set_ylim(-0.6, len(names) - 0.4)
        for name in reversed(names) if gaps else ():
            time = first + 1 + np.arange(len(gaps[name]))
            axes[0, 1].plot(time, gaps[name], lw=1.3, label=name)
        if gaps:
            axes[0, 1].set(xlabel="t", ylabel="one-step score, summed, to the best")
            axes[0, 1].legend()
    return figure
