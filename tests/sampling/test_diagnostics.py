import blackjax.diagnostics
import jax
import numpy as np
import pytest
from arviz_base import from_dict
from arviz_stats import summary

from tsnl.sampling.diagnostics import ess, r_hat


def chains(rho, num_chains=4, num_draws=2000, seed=0):
    """Stationary AR(1) chains of unit variance, two coordinates."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(num_chains, num_draws, 2))
    for t in range(1, num_draws):
        x[:, t] = rho * x[:, t - 1] + np.sqrt(1 - rho**2) * x[:, t]
    return x


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_effective_size_agrees_with_blackjax(rho):
    x = chains(rho)
    found = ess(x)
    expected = np.asarray(jax.jit(blackjax.diagnostics.effective_sample_size)(x))
    np.testing.assert_allclose(found, expected, rtol=0.1)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_effective_size_agrees_with_theory(rho):
    """n (1 - rho) / (1 + rho) for an AR(1), whose estimate is off by some per cent."""
    found = np.mean([ess(chains(rho, seed=s)).mean() for s in range(5)])
    np.testing.assert_allclose(found, 8000 * (1 - rho) / (1 + rho), rtol=0.1)


@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.9, 0.99])
@pytest.mark.parametrize("num_draws", [4, 11, 300])
def test_what_the_summary_prints(rho, num_draws):
    x = chains(rho, 4, num_draws)
    x[::2] = np.round(x[::2], 1)  # equal draws share a rank
    table = summary(from_dict({"posterior": {"a": x[..., 0], "b": x[..., 1]}}), round_to="none")
    np.testing.assert_allclose(ess(x), table["ess_bulk"], rtol=1e-9)
    np.testing.assert_allclose(r_hat(x), table["r_hat"], rtol=1e-9)


def test_fewer_than_four_draws_say_nothing():
    assert np.isnan(r_hat(np.ones((2, 3, 2)))).all()
    assert np.isnan(ess(np.ones((2, 3, 2)))).all()


def test_chains_of_different_spread_do_not_agree():
    assert (r_hat(chains(0.0) * np.array([1, 1, 1, 3])[:, None, None]) > 1.05).all()


def test_one_chain_is_judged_by_its_halves():
    assert (r_hat(chains(0.0, 1)) < 1.01).all()
    assert (r_hat(chains(0.0, 1) + np.linspace(0, 3, 2000)[:, None]) > 1.2).all()


def test_alternating_chains_count_for_more_than_their_length():
    assert (ess(chains(-0.5)) > 8000).all()


@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_r_hat_agrees_with_blackjax_on_halves(rho):
    x = chains(rho) + np.linspace(0, 0.5, 4)[:, None, None]
    halves = np.concatenate([x[:, :1000], x[:, 1000:]])
    expected = np.asarray(blackjax.diagnostics.potential_scale_reduction(halves))
    np.testing.assert_allclose(r_hat(x), expected, rtol=1e-3)


def test_r_hat_sees_chains_that_differ_and_chains_that_drift():
    x = chains(0.0)
    assert (r_hat(x) < 1.01).all()
    assert (r_hat(x + np.arange(4)[:, None, None]) > 1.3).all()
    assert (r_hat(x + np.linspace(0, 3, 2000)[:, None]) > 1.2).all()


def test_stuck_chains_are_never_healthy():
    assert (r_hat(np.ones((3, 20, 1))) == np.inf).all()
    assert (ess(np.ones((3, 20, 1))) == 0).all()
    apart = np.ones((2, 20, 1)) * np.arange(2)[:, None, None]
    assert (r_hat(apart) == np.inf).all()
    assert (ess(apart) < 3).all()


def test_single_precision_draws():
    x = chains(0.5)
    np.testing.assert_allclose(ess(x.astype(np.float32)), ess(x), rtol=1e-3)
