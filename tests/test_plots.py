from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import numpyro.distributions as dist
import pytest

from tsnl import Prior
from tsnl.plots import ecdf_figure, posterior_figure, rank_figure, style
from tsnl.uniformity import histogram_band, rank_ecdf

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
    result = SimpleNamespace(
        coordinates=lambda: {label: rng.normal(size=(2, 100)) for label in prior.labels},
        problem=SimpleNamespace(series=rng.normal(size=(20, 1)), prior=prior),
    )
    grid = np.linspace(-3, 3, 50)
    figure = posterior_figure(result, {"R": (grid, np.exp(-0.5 * grid**2))}, dark=dark)
    assert [axes.get_xlabel() for axes in figure.axes] == ["t", "Q[0]", "Q[1]", "R"]
    assert len(figure.axes[-1].lines) == 1
    figure.savefig(tmp_path / "posterior.png")
