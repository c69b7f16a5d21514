import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tsnl.sampling.smc import Cloud, rejuvenate

Z = np.random.default_rng(0).normal(size=(2000, 2))


def log_factor(z):
    """A unit Gaussian likelihood at (1, -1)."""
    return -0.5 * ((z - np.array([1.0, -1.0])) ** 2).sum(axis=-1)


def target(z):
    """The posterior: prior N(0, I) times that, N((0.5, -0.5), I/2)."""
    return -0.5 * jnp.sum(z**2) - 0.5 * jnp.sum((z - jnp.array([1.0, -1.0])) ** 2)


def test_reweighing_gives_posterior_and_evidence():
    cloud, score = Cloud.even(Z).reweigh(log_factor(Z))
    np.testing.assert_allclose(cloud.weights.sum(), 1.0)
    # the evidence is the density of N(0, 2 I) at (1, -1), without the factor's constant
    exact = -np.log(2.0) - 0.25 * 2
    spread = np.exp(log_factor(Z)).std() / np.exp(log_factor(Z)).mean() / np.sqrt(len(Z))
    assert abs(score - exact) < 4.5 * spread
    mean = cloud.weights @ cloud.z
    assert (abs(mean - [0.5, -0.5]) < 4.5 * np.sqrt(0.5 / cloud.ess)).all()


@pytest.mark.parametrize("n", [256, 2000])
def test_rejuvenation_leaves_the_target_as_it_is(n):
    z = Z[:n]
    cloud, _ = Cloud.even(z.astype(np.float32)).reweigh(log_factor(z))
    fresh = rejuvenate(jax.random.key(0), target, cloud)
    np.testing.assert_allclose(fresh.weights, 1 / n, rtol=1e-6)
    assert len(np.unique(fresh.z, axis=0)) > 0.75 * n
    error = 4.5 * np.sqrt(0.5 / cloud.ess)
    assert (abs(fresh.z.mean(axis=0) - [0.5, -0.5]) < error).all()
    spread = 4.5 * 0.5 * np.sqrt(2 / cloud.ess)
    np.testing.assert_allclose(np.cov(fresh.z.T), 0.5 * np.eye(2), atol=spread)


def test_impossible_rows_are_an_error():
    with pytest.raises(FloatingPointError, match="No particle gives the new rows a positive density"):
        Cloud.even(Z).reweigh(np.full(2000, np.nan))
