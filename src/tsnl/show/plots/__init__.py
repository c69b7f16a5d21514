"""Pictures, in one style, on light or dark paper."""

from tsnl.show.plots.calibration import ecdf_figure, rank_figure
from tsnl.show.plots.chains import chains_figure
from tsnl.show.plots.checks import Bands, replicates_figure, windows_figure
from tsnl.show.plots.costs import Panel, cost_figure, curves_figure
from tsnl.show.plots.diagnostics import acf_figure, learning_figure, pit_figure, series_figure
from tsnl.show.plots.pairs import marginal_figure, pair_figure
from tsnl.show.plots.paths import forecast_figure, states_figure, stream_figure
from tsnl.show.plots.posterior import posterior_figure, prior_draws
from tsnl.show.plots.style import Palette, saved, style

__all__ = [
    "Bands",
    "Palette",
    "Panel",
    "acf_figure",
    "chains_figure",
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
    "replicates_figure",
    "saved",
    "series_figure",
    "states_figure",
    "stream_figure",
    "style",
    "windows_figure",
]
