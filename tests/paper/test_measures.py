"""Distances to a reference posterior, against laws whose distance is known."""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy.stats import norm

import tsnl
from paper.measures import binned_variation, distance, equal_cuts, exact_row, measure
from paper.problems import LINEAR, PROBLEMS
from paper.references import Reference, quantiles, reference
from paper.trial import Trial
from tsnl.posterior import Posterior

GRID = np.linspace(-6.0, 6.0, 400)
NORMAL = Reference.of_grid(GRID, norm.logpdf(GRID))


def test_quantiles_of_a_normal():
    levels = np.array([0.05, 0.3, 0.5, 0.9])
    np.testing.assert_allclose(quantiles(GRID, norm.logpdf(GRID), levels), norm.ppf(levels), atol=2e-3)
    np.testing.assert_allclose([NORMAL.draws.mean(), NORMAL.draws.std()], [0, 1], atol=3e-3)


def test_binned_variation_of_a_shifted_normal():
    cuts = equal_cuts(NORMAL, 10)
    np.testing.assert_allclose(cuts, norm.ppf(np.arange(1, 10) / 10), atol=2e-3)
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    right = 0.5 * np.abs(np.diff(norm.cdf(edges - 0.5)) - 0.1).sum()
    z = norm.ppf((np.arange(5000) + 0.5) / 5000) + 0.5
    assert binned_variation(z, np.full(5000, 1 / 5000), cuts) == pytest.approx(right, abs=2e-3)
    posterior = Posterior(tsnl.Prior(x=dist.Normal(0.5, 1.0)), lambda z: jnp.zeros(()))
    by_density = distance(z[:, None], NORMAL, posterior)
    assert by_density == pytest.approx(right, abs=2e-3)


def test_several_parameters_in_reference_sds():
    rng = np.random.default_rng(0)
    scale = np.array([0.1, 10.0])
    right = Reference.of_draws(rng.normal(size=(4000, 2)) * scale)
    near = distance(rng.normal(size=(1000, 2)) * scale, right)
    far = distance(rng.normal([2.0, 0.0], 1.0, (1000, 2)) * scale, right)
    assert near < 0.1
    assert far == pytest.approx(2 / np.sqrt(2), rel=0.1)  # a shift seen from a random direction


def test_reference_is_kept_and_belongs_to_its_series(tmp_path):
    found = reference("linear", 3, tmp_path)
    path = tmp_path / "linear-3.npz"
    written = path.stat().st_mtime_ns
    np.testing.assert_array_equal(reference("linear", 3, tmp_path).draws, found.draws)
    assert path.stat().st_mtime_ns == written
    path.rename(tmp_path / "linear-4.npz")
    with pytest.raises(ValueError, match="another series"):
        reference("linear", 4, tmp_path)


def test_exact_draws_are_as_good_as_can_be(tmp_path):
    row = exact_row(Trial("linear", "exact draws", 0, 0), tmp_path, 1000)
    assert row["distance"] < 0.08
    assert row["rmse"] == pytest.approx(np.hypot(row["bias"], row["sd"]))
    same = measure(LINEAR, reference("linear", 0, tmp_path).draws, reference("linear", 0, tmp_path))
    assert same["distance"] < 0.005


@pytest.mark.parametrize("name", ["volatility-3", "volatility-5"])
def test_truths_of_larger_volatility_models_are_correlations(name):
    truth = np.asarray(PROBLEMS[name].truth["C"])
    assert np.linalg.eigvalsh(truth).min() > 0.1
    np.testing.assert_array_equal(np.diag(truth), 1.0)
    assert PROBLEMS[name].prior.size == len(truth) * (len(truth) - 1) // 2
