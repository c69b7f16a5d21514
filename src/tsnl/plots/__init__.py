"""Pictures, in one style, on light or dark paper."""

from tsnl.plots.calibration import ecdf_figure, rank_figure
from tsnl.plots.paths import forecast_figure, states_figure
from tsnl.plots.posterior import posterior_figure
from tsnl.plots.style import Palette, style

__all__ = [
    "Palette",
    "ecdf_figure",
    "forecast_figure",
    "posterior_figure",
    "rank_figure",
    "states_figure",
    "style",
]
