"""Checks that need no densities, on kernels whose faults are known."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy.stats import binom

import tsnl
from tsnl.checks.local import check_law, check_local, features
from tsnl.posterior import Posterior

PRIOR = tsnl.Prior(mean=dist.Normal(0.0, 3.0))
T = 10


class Learned(eqx.Module):
    """Rows are N(z, (1 / sharp)^2), where N(z, 1) is right."""

    rows: jnp.ndarray
    sharp: float = eqx.field(static=True)

    def __call__(self, z):
        return -0.5 * jnp.sum((self.rows - z[0]) ** 2) * self.sharp**2


class Known(Posterior):
    """A posterior whose kernel can be wrong by a known amount."""

    def given(self, panel, inputs=None):
        learned = Learned(jnp.asarray(panel[0], dtype=float), self.likelihood.sharp)
        return Known(self.prior, learned, panel, inputs)


def posed(sharp):
    """A posterior, draws of it, and series at some of them, by the right law."""
    rng = np.random.default_rng(0)
    y = rng.normal(0.5, 1.0, size=(T, 1))
    posterior = Known(PRIOR, Learned(jnp.asarray(y, dtype=float), sharp), (y,))
    precision = T * sharp**2 + 1 / 9
    draws = rng.normal(y.sum() * sharp**2 / precision, precision**-0.5, size=(2000, 1))
    draws = draws.astype(np.float32)
    z = draws[:100]
    return posterior, draws[100:], z, rng.normal(z[:, None], 1.0, size=(100, T, 1))


def test_a_right_kernel_gives_back_its_parameters():
    found = check_local(*posed(1.0))
    assert found.verdict == "pass"
    assert found.figures["bias"][0] == pytest.approx(0.0, abs=4.5 / 10)
    assert found.figures["spread"][0] == pytest.approx(1.0, abs=4.5 / 14)
    assert found.figures["ess"] > 50
    assert not found.remedy


def test_a_kernel_that_is_too_sure_is_found():
    found = check_local(*posed(2.0))
    assert found.verdict == "fail"
    assert found.figures["spread"][0] > 1.3
    assert "too narrow" in found.remedy


def test_a_missing_row_and_a_failed_series_are_left_out():
    posterior, draws, z, series = posed(1.0)
    gap = np.where(np.arange(T)[:, None] == 3, np.nan, posterior.panel[0])

    class Gaps(Known):
        def given(self, panel, inputs=None):
            assert np.isnan(panel[0][3]).all()
            return Known.given(self, (np.nan_to_num(panel[0]),), inputs)

    series[0] = np.inf
    found = check_local(Gaps(PRIOR, posterior.likelihood, (gap,)), draws, z, series)
    assert found.figures["series"] == 99


def walks(rng, rho, n=150):
    e = rng.normal(size=(n, 40, 1))
    for t in range(1, 40):
        e[:, t] += rho * e[:, t - 1]
    return e


def test_the_kernels_law_against_the_simulators():
    rng = np.random.default_rng(1)
    same = check_law(walks(rng, 0.5), walks(rng, 0.5))
    assert same.verdict == "pass"
    other = check_law(walks(rng, 0.5), walks(rng, 0.95))
    assert other.verdict == "fail"
    assert other.figures["share"] > 0.75
    assert other.figures["pairs"] == 120  # the first of five blocks is learned from only
    assert "result.refine" in other.remedy
    few = check_law(walks(rng, 0.5, n=20), walks(rng, 0.5, n=20))
    assert few.verdict == "look"
    assert "Only 20 series" in few.sentence
    assert features(walks(rng, 0.5, n=3)).shape == (3, 16)


def test_a_small_difference_is_no_failure(monkeypatch):
    monkeypatch.setattr("tsnl.checks.local.told_apart", lambda p, q: (100, 159))
    series = np.zeros((199, 5, 1))
    found = check_law(series, series)
    assert found.verdict == "look"
    assert "63 of 100 pairs" in found.sentence
    assert found.figures["p_value"] == pytest.approx(binom.sf(99, 159, 0.5))
    monkeypatch.setattr("tsnl.checks.local.told_apart", lambda p, q: (89, 159))
    assert check_law(series, series).verdict == "pass"  # p = 0.08
    monkeypatch.setattr("tsnl.checks.local.told_apart", lambda p, q: (0, 0))
    assert check_law(series, series).figures["p_value"] == 1.0  # nothing but the same


def test_a_pair_with_a_failed_series_is_left_out():
    rng = np.random.default_rng(1)
    one, other = walks(rng, 0.5, n=60), walks(rng, 0.5, n=60)
    one[:6], other[3:12] = np.nan, np.inf
    assert check_law(one, other).sentence.startswith("Only 48 series")


@pytest.mark.slow
def test_a_right_kernel_is_suspected_as_often_as_said():
    """Pairs share their rho, as those of the kernel and the simulator share theta."""
    rng, found = np.random.default_rng(2), []
    for _ in range(100):
        rho = rng.uniform(0.2, 0.9, size=(99, 1))
        found.append(check_law(walks(rng, rho, n=99), walks(rng, rho, n=99)).figures["p_value"])
    for level in (0.05, 0.5):
        assert np.sum(np.array(found) < level) <= binom.ppf(0.9999, 100, level)


@pytest.mark.slow
def test_from_a_result(result):
    report = result.check(num_replicates=99, refit=False, local=True)
    assert report.cost == 99 * 20  # the replicates serve all
    assert {"kernel's law", "local calibration"} <= {v.name for v in report}
