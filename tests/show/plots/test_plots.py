import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import numpyro.distributions as dist
import pytest

from tsnl import Prior
from tsnl.checks.uniformity import histogram_band, rank_ecdf
from tsnl.models import LinearGaussian
from tsnl.problem import Problem
from tsnl.show.plots import (
    Bands,
    Panel,
    acf_figure,
    chains_figure,
    cost_figure,
    curves_figure,
    ecdf_figure,
    learning_figure,
    marginal_figure,
    pair_figure,
    pit_figure,
    posterior_figure,
    prior_draws,
    rank_figure,
    replicates_figure,
    series_figure,
    style,
    windows_figure,
)
from tsnl.show.plots.chains import rank_counts
from tsnl.show.plots.diagnostics import view
from tsnl.show.plots.pairs import bin_edges

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture
def ranks():
    rng = np.random.default_rng(0)
    return {"Q": rng.integers(0, 100, 200), "R": (100 * rng.beta(3, 3, 200)).astype(int)}


def luminance(colour):
    return float(np.mean(mpl.colors.to_rgb(colour)))


def contrast(a, b):
    """The ratio of WCAG 2, from 1 to 21."""
    rgb = np.array([mpl.colors.to_rgb(a), mpl.colors.to_rgb(b)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    dim, bright = np.sort(linear @ [0.2126, 0.7152, 0.0722])
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_style_is_readable_and_leaves_no_trace(dark):
    before = dict(mpl.rcParams)
    with style(dark) as palette:
        assert mpl.rcParams["text.color"] == palette.ink
        assert (luminance(mpl.rcParams["figure.facecolor"]) < 0.5) == dark
    assert dict(mpl.rcParams) == before
    assert contrast(palette.ink, palette.paper) > 7
    for colour in (palette.main, palette.truth, palette.alert):
        assert contrast(colour, palette.paper) > 4.5
        assert contrast(colour, palette.band) > 3
    assert contrast(palette.faint, palette.paper) > 2.5


@pytest.mark.parametrize("dark", [False, True])
def test_ecdf_figure_shows_band_shares_and_p_values(ranks, dark, tmp_path):
    tests = {name: rank_ecdf(values, 99) for name, values in ranks.items()}
    figure = ecdf_figure(tests, dark=dark)
    assert figure.axes[0].get_title() == f"Q: p = {tests['Q'].p_value:.2f}"
    for axes, test in zip(figure.axes, tests.values(), strict=True):
        x, y = axes.lines[-1].get_data()
        np.testing.assert_allclose(x[1:-1], test.points)
        np.testing.assert_allclose(y[1:-1], test.share - test.points)
        corners = axes.collections[0].get_paths()[0].vertices
        np.testing.assert_allclose(corners[:, 1].max(), (test.high - test.points).max())
    colours = [axes.lines[-1].get_color() for axes in figure.axes]
    assert colours[0] != colours[1]
    figure.savefig(tmp_path / "ecdf.png")


def test_rank_figure_shows_counts_and_band(ranks, tmp_path):
    figure = rank_figure(ranks, 99)
    low, high = histogram_band(200, 20)
    for axes, values in zip(figure.axes, ranks.values(), strict=True):
        counts = np.bincount(values // 5, minlength=20)
        np.testing.assert_array_equal([bar.get_height() for bar in axes.patches[1:]], counts)
        band = axes.patches[0].get_bbox()
        assert (band.y0, band.y1) == (low, high)
        colours = {bar.get_facecolor() for bar in axes.patches[1:]}
        assert len(colours) == 1 + bool(((counts < low) | (counts > high)).any())
    figure.savefig(tmp_path / "ranks.png")


def test_rank_figure_wants_even_bins(ranks):
    with pytest.raises(ValueError, match="7 bins do not divide the 100 ranks evenly"):
        rank_figure(ranks, 99, num_bins=7)


def test_few_trials_get_few_bins():
    figure = rank_figure({"Q": np.arange(30)}, 99)
    assert len(figure.axes[0].patches) == 1 + 5


@pytest.mark.parametrize("dark", [False, True])
def test_posterior_figure_has_a_panel_for_each_coordinate(dark, tmp_path):
    prior = Prior(Q=dist.LogNormal(0.0, np.ones(2)), R=dist.Normal(0.0, 1.0))
    rng = np.random.default_rng(1)
    coordinates = {label: rng.normal(size=(2, 100)) for label in prior.labels}
    problem = Problem(LinearGaussian(), prior, (rng.normal(size=(20, 1)),))
    grid = np.linspace(-3, 3, 50)
    figure = posterior_figure(problem, coordinates, {"R": (grid, np.exp(-0.5 * grid**2))}, dark=dark)
    assert [axes.get_xlabel() for axes in figure.axes] == ["t", "Q[0]", "Q[1]", "R"]
    assert len(figure.axes[-1].lines) == 1
    figure.savefig(tmp_path / "posterior.png")


@pytest.mark.parametrize("dark", [False, True])
def test_pit_figure_marks_what_is_outside(dark, tmp_path):
    rng = np.random.default_rng(0)
    pit = np.stack([rng.uniform(size=100), rng.beta(8, 8, 100)], axis=1)
    figure = pit_figure(pit, dark=dark)
    assert [axes.get_xlabel() for axes in figure.axes[::2]] == ["PIT of y[0]", "PIT of y[1]"]
    heights = [bar.get_height() for bar in figure.axes[0].patches[1:]]
    assert len(heights) == 20
    assert sum(heights) == 100
    assert figure.axes[1].lines[-1].get_color() != figure.axes[3].lines[-1].get_color()
    figure.savefig(tmp_path / "pit.png")


def test_series_figure_shows_bands_and_surprises(tmp_path):
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(400, 30, 2))
    figure = series_figure(draws[0], draws, surprising=[1, 30])
    assert len(figure.axes) == 2
    band = figure.axes[0].collections[0].get_paths()[0].vertices[:, 1]
    assert np.quantile(draws[:, :, 0], 0.95, axis=0).max() == pytest.approx(band.max())
    x, y = figure.axes[1].lines[-1].get_data()
    assert x.tolist() == [1, 30]
    np.testing.assert_array_equal(y, draws[0, [0, 29], 1])
    figure.savefig(tmp_path / "series.png")


def test_learning_figure_has_a_curve_for_each_round(tmp_path):
    history = [{"losses": [2.0, 1.5, 1.2], "steps": 150}, {"losses": [1.4, 1.1], "steps": 100}]
    figure = learning_figure(history)
    assert [line.get_label() for line in figure.axes[0].lines] == ["round 1", "round 2"]
    assert figure.axes[0].lines[0].get_xdata().tolist() == [50, 100, 150]
    figure.savefig(tmp_path / "learning.png")


def test_acf_figure_marks_the_lag(tmp_path):
    rng = np.random.default_rng(0)
    series = np.cumsum(rng.normal(size=(5, 40, 1)), axis=1)
    series[4, 20:] = np.nan
    figure = acf_figure(series[0], 12, simulated=series[1:])
    (axes,) = figure.axes
    assert axes.lines[0].get_xdata()[0] == 12.5
    assert len(axes.collections[-1].get_segments()) == 14
    figure.savefig(tmp_path / "acf.png")


@pytest.mark.parametrize("dark", [False, True])
def test_pair_figure(dark, tmp_path):
    rng = np.random.default_rng(0)
    draws = {label: rng.normal(size=(2, 500)) for label in ("A", "Q[0]", "Q[1]")}
    prior = prior_draws(Prior(A=dist.Normal(0.0, 3.0), Q=dist.LogNormal(0.0, np.ones(2))))
    figure = pair_figure(draws, prior=prior, truth={"A": 9.0}, dark=dark)
    grid = np.array(figure.axes).reshape(3, 3)
    assert [axes.get_visible() for axes in grid.ravel()].count(True) == 6
    assert grid[2, 1].get_xlabel() == "Q[0]"
    assert grid[2, 0].get_ylabel() == "Q[1]"
    assert grid[0, 0].get_xlim()[1] >= 9.0
    figure.savefig(tmp_path / "pairs.png")
    assert pair_figure({"A": draws["A"]}).axes[0].get_xlabel() == "A"


def test_marginal_figure_draws_references_of_both_kinds(tmp_path):
    rng = np.random.default_rng(0)
    draws = {"A": rng.normal(size=(2, 500)), "Q": rng.normal(size=(2, 500))}
    grid = np.linspace(-4, 4, 401)
    reference = {"A": (grid, 7 * np.exp(-0.5 * grid**2)), "Q": rng.normal(size=2000)}
    figure = marginal_figure(draws, reference, truth={"A": 0.5})
    _, density = figure.axes[0].lines[0].get_data()
    assert density.max() == pytest.approx(1 / np.sqrt(2 * np.pi), rel=1e-3)
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert sorted(labels) == ["posterior", "reference", "truth"]
    figure.savefig(tmp_path / "marginals.png")


def test_error_against_cost():
    cost = np.array([1e3, 1e3, 1e4, 1e4])
    runs = {"T-SNL": (cost, np.array([0.2, 0.3, 0.1, 0.05])), "SNL": (10 * cost, np.full(4, 0.4))}
    figure = cost_figure(runs, error="total variation", floor=0.02)
    (axes,) = figure.axes
    medians = axes.lines[0].get_xydata()
    np.testing.assert_allclose(medians, [[1e3, 0.25], [1e4, 0.075]])
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["T-SNL", "SNL", "exact draws"]
    assert axes.get_xscale() == axes.get_yscale() == "log"


def test_curves_are_means_with_the_middle_of_their_runs():
    x, y = np.array([1.0, 1.0, 10.0, 10.0]), np.array([1.0, 3.0, 4.0, 4.0])
    panels = [
        Panel("left", "error", {"a": (x, y), "b": (x, 2 * y)}, floor=0.5),
        Panel("right", "score", {"c": (x, y)}, yscale="linear"),
    ]
    left, right = curves_figure(panels, xlabel="cost", columns=2, floor="exact").axes
    np.testing.assert_allclose(left.lines[0].get_xydata(), [[1.0, 2.0], [10.0, 4.0]])
    low, high = left.collections[0].get_paths()[0].get_extents().intervaly
    np.testing.assert_allclose([low, high], [1.2, 4.0])  # 10th percentile of 1 and 3
    assert [t.get_text() for t in left.get_legend().get_texts()] == ["a", "b", "exact"]
    assert [t.get_text() for t in right.get_legend().get_texts()] == ["c"]
    assert (left.get_yscale(), right.get_yscale()) == ("log", "linear")


def test_columns_have_their_names():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(30, 12, 2))
    figure = series_figure(draws[0], draws, names=("prey", "predator"))
    assert [axes.get_ylabel() for axes in figure.axes] == ["prey", "predator"]
    figure = pit_figure(rng.uniform(size=(40, 2)), names=("prey", "predator"))
    assert figure.axes[2].get_xlabel() == "PIT of predator"


def test_a_wide_band_at_the_first_row_does_not_flatten_the_others():
    values = np.sin(np.arange(50.0))
    ends = np.stack([values - 1, values + 1])
    assert view(values, ends)[0] < -1.9
    assert not view(values, ends)[2]
    ends[:, 0] = (-1000, 1000)
    low, high, cut = view(values, ends)
    assert cut
    assert -3 < low < high < 3


def test_bins_fit_the_effective_sample_size():
    rng = np.random.default_rng(0)
    good = rng.normal(size=(4, 2000))
    sticky = np.repeat(rng.normal(size=(4, 20)), 100, axis=1)  # as many draws, few of them new
    many, few = (len(bin_edges(x, (-3.0, 3.0))) for x in (good, sticky))
    assert many > 2 * few


def test_chains_that_agree_rank_evenly():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(4, 400))
    assert rank_counts(draws, 400.0).sum() == draws.size
    assert rank_counts(draws, 400.0).min() > 0
    draws[0] += 3
    assert rank_counts(draws, 400.0)[0, 0] == 0
    figure = chains_figure({"A": draws, "B": draws})
    assert [axes.get_ylabel() for axes in figure.axes[::2]] == ["A", "B"]


def test_windows_and_replicates():
    rng = np.random.default_rng(0)
    distances = [*rng.uniform(size=10), np.nan, 5.0]
    figure = windows_figure(range(4, 16), distances, {"50": 0.5, "90": 0.9, "99": 1.2})
    circled = figure.axes[0].lines[-1]
    np.testing.assert_array_equal(circled.get_xdata(), [15])
    bands = Bands([1, 5, 9], np.sort(rng.normal(size=(4, 3, 2)), axis=0), ("prey", "predator"))
    given = {"mean": 0.0, "sd": 9.0}, {"mean": [-1.0, 1.0], "sd": [1.0, 2.0]}
    figure = replicates_figure(rng.normal(size=(9, 2)), bands, *given)
    first, second, below = figure.axes
    assert (first.get_ylabel(), second.get_ylabel()) == ("prey", "predator")
    assert [text.get_text() for text in below.get_yticklabels()] == ["mean", "sd"]
    assert below.collections[-1].get_offsets()[1, 0] == 5.0  # beyond the picture: at its border
