import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy.stats import norm

import tsnl
from tsnl.sampling.tempering import next_beta, temper

PRIOR = tsnl.Prior(a=dist.Normal(0.0, 2.0))


class Normal(eqx.Module):
    """y = 3 was seen with an error of 0.2."""

    def __call__(self, z):
        return -0.5 * jnp.sum((3.0 - z) ** 2) / 0.2**2 - jnp.log(0.2 * jnp.sqrt(2 * jnp.pi))


class Nowhere(eqx.Module):
    def __call__(self, z):
        return jnp.asarray(-jnp.inf)


def test_the_evidence_of_a_normal_mean():
    """Exactly N(3 | 0, 2^2 + 0.2^2)."""
    runs = [temper(key, PRIOR, Normal(), 250) for key in jax.random.split(jax.random.key(0), 8)]
    found = np.exp([run.log_evidence for run in runs])
    right = norm.pdf(3.0, 0.0, np.sqrt(4.04))
    assert abs(found.mean() - right) < 4.5 * found.std(ddof=1) / 8**0.5
    assert found.std() / right < 0.5
    z = np.concatenate([run.z for run in runs])
    sd = np.sqrt(1 / (1 / 4 + 1 / 0.04))
    assert abs(z.mean() - 3 * sd**2 / 0.04) < 0.05
    assert abs(z.std() / sd - 1) < 0.2


def test_powers():
    assert next_beta(0.0, np.zeros(100)) == 1.0
    log_p = np.linspace(0.0, -100.0, 100)
    new = next_beta(0.0, log_p)
    weights = np.exp(new * log_p)
    assert weights.sum() ** 2 / (weights**2).sum() == pytest.approx(50, rel=0.01)
    assert next_beta(0.5, log_p) > 0.5
    assert 0 < next_beta(0.0, np.where(np.arange(100) < 50, log_p, -np.inf)) < 1


def test_a_likelihood_that_is_nowhere_positive():
    with pytest.raises(FloatingPointError, match="zero at all 20 particles"):
        temper(jax.random.key(0), PRIOR, Nowhere(), 20)
