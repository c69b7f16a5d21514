"""Pictures, in one style, on light or dark paper."""

from tsnl.plots.calibration import ecdf_figure, rank_figure
from tsnl.plots.costs import Panel, cost_figure, curves_figure
from tsnl.plots.diagnostics import acf_figure, learning_figure, pit_figure, series_figure
from tsnl.plots.pairs import marginal_figure, pair_figure
from tsnl.plots.paths import forecast_figure, states_figure, stream_figure
from tsnl.plots.posterior import posterior_figure, prior_draws
from tsnl.plots.style import Palette, style

__all__ = [
    "Palette",
    "Panel",
    "acf_figure",
    "cost_figure",
    "curves_figure",
    "ecdf_figure",
    "forecast_figure",
    "learning_figure",
    "marginal_figure",
    "pair_figure",
    "pit_figure",
    "posterior_figure",
    "prior_draws",
    "rank_figure",
    "series_figure",
    "states_figure",
    "stream_figure",
    "style",
]
