import numpy as np
import pytest

from tsnl.sampling.importance import Weights


def test_equal_weights():
    found = Weights.of(np.full(100, -700.0))
    np.testing.assert_allclose(found.values, 0.01)
    assert found.k_hat == 0.0
    assert found.ess == pytest.approx(100)
    assert found.log_mean == pytest.approx(-700.0)
    assert found.log_mean_se == pytest.approx(0.0, abs=1e-10)


def test_the_tail_is_measured():
    """Weights exp(E / a), E exponential, have a Pareto tail of shape 1 / a."""
    e = np.random.default_rng(0).exponential(size=4000)
    light, heavy = Weights.of(0.3 * e), Weights.of(1.2 * e)
    assert light.usable
    assert abs(light.k_hat - 0.3) < 0.2
    assert not heavy.usable
    assert heavy.k_hat > 0.9
    assert heavy.ess < light.ess


def test_the_mean_of_the_weights_has_an_error():
    rng = np.random.default_rng(1)
    found = [Weights.of(rng.normal(-0.5, 1.0, size=400)) for _ in range(50)]  # of mean one
    off = np.array([w.log_mean / w.log_mean_se for w in found])
    assert np.abs(off.mean()) < 4.5 / 50**0.5 + 0.2  # the log of a mean is a little low
    assert 0.6 < off.std() < 1.5


def test_one_draw_with_all_the_weight():
    log_ratio = np.zeros(100)
    log_ratio[7] = 1000.0
    found = Weights.of(log_ratio)
    assert found.ess < 2
    assert not found.usable
    assert (found.pick(np.random.default_rng(0), 5) == 7).sum() >= 4


def test_draws_without_weight():
    log_ratio = np.random.default_rng(0).normal(size=60)
    log_ratio[:20], log_ratio[20] = -np.inf, np.nan
    found = Weights.of(log_ratio)
    assert (found.values[:21] == 0).all()
    assert found.values.sum() == pytest.approx(1)
    assert (found.pick(np.random.default_rng(0), 200) > 20).all()
    few = Weights.of(np.where(np.arange(60) < 3, 0.0, -np.inf))
    assert few.k_hat == np.inf
    assert few.ess == pytest.approx(3)
    with pytest.raises(FloatingPointError, match="None of 60 draws has a positive density"):
        Weights.of(np.full(60, -np.inf))
