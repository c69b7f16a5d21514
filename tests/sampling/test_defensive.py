from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multivariate_t

from tsnl.sampling.defensive import (
    FREEDOM,
    WIDEN,
    Defensive,
    Student,
    bridge,
    covariance,
    mixture,
    values,
)
from tsnl.sampling.importance import Weights

MEAN = np.array([1.0, -2.0])
COVARIANCE = np.array([[1.0, 0.4], [0.4, 0.5]])
LOG_Z = 7.0


class Gauss(eqx.Module):
    """A normal log-density, LOG_Z too high."""

    mean: jax.Array
    precision: jax.Array

    def __call__(self, z):
        apart = z - self.mean
        log_det = jnp.linalg.slogdet(self.precision)[1]
        return LOG_Z - 0.5 * apart @ self.precision @ apart + 0.5 * log_det - jnp.log(2 * jnp.pi)


TARGET = Gauss(jnp.asarray(MEAN), jnp.asarray(np.linalg.inv(COVARIANCE)))
DRAWS = np.random.default_rng(0).multivariate_normal(MEAN, COVARIANCE, size=2000).astype(np.float32)


def test_student():
    wide = Student.of(MEAN, COVARIANCE)
    other = multivariate_t(MEAN, WIDEN**2 * COVARIANCE, df=FREEDOM)
    np.testing.assert_allclose(values(wide, DRAWS[:300]), other.logpdf(DRAWS[:300]), atol=1e-4)
    drawn = wide.draw(np.random.default_rng(0), 20_000)
    assert np.abs(np.median(drawn, axis=0) - MEAN).max() < 0.05
    expected = WIDEN**2 * FREEDOM / (FREEDOM - 2) * COVARIANCE
    np.testing.assert_allclose(np.cov(drawn.T), expected, rtol=0.12)


def test_the_constant_is_found():
    """Within its own standard error, over several sets of draws."""
    off = []
    for seed in range(12):
        found = Defensive.of(np.random.default_rng(seed), TARGET, DRAWS, 0.2)
        off.append(float((found.log_z - LOG_Z) / found.log_z_se))
    assert np.abs(off).max() < 4.5
    assert 0.001 < found.log_z_se < 0.1


def test_other_draws_compile_nothing():
    """What differs from correction to correction is an argument of programs, not a constant."""
    traces = []

    class Counted(Gauss):
        def __call__(self, z):
            traces.append(1)
            return super().__call__(z)

    target = Counted(TARGET.mean, TARGET.precision)
    for seed in (0, 1):
        found = Defensive.of(np.random.default_rng(seed), target, DRAWS[seed:], 0.2)
        values(found, DRAWS[:10])
        if seed == 0:
            before = len(traces)
    assert len(traces) == before


def test_a_density_that_is_nowhere_finite():
    with pytest.raises(FloatingPointError, match="nowhere finite"):
        bridge(np.full(5, -np.inf), np.full(5, -np.inf))


def test_points_of_the_mixture():
    """Weights of a target with heavier tails stay bounded, and their mean is its constant."""
    rng = np.random.default_rng(3)
    proposal = Defensive.of(rng, TARGET, DRAWS, 0.3)
    z = proposal.draw(rng, DRAWS, 1000)
    assert z.shape == (1000, 2)
    right = Student.of(MEAN + 0.5, 0.5 * COVARIANCE)
    found = Weights.of(values(right, z) - values(proposal, z))
    assert found.usable
    assert abs(found.log_mean) < 4.5 * np.hypot(found.log_mean_se, proposal.log_z_se)

    refitted = proposal.refitted(z, found, 0.5)
    assert np.abs(np.asarray(refitted.wide.mean) - MEAN - 0.5).max() < 0.3
    z = np.concatenate([z, refitted.draw(rng, DRAWS, 500)])
    both = Weights.of(values(right, z) - mixture([proposal, refitted], [1000, 500], z))
    assert both.ess > found.ess
    assert abs(both.log_mean) < 4.5 * np.hypot(both.log_mean_se, proposal.log_z_se)


def test_one_effective_point_keeps_a_covariance():
    log_ratio = np.zeros(100)
    log_ratio[3] = 500.0
    weights = Weights.of(log_ratio)
    first = Defensive.of(np.random.default_rng(0), TARGET, DRAWS, 0.2)
    found = first.refitted(DRAWS[:100], weights, 0.5)
    np.testing.assert_allclose(found.wide.mean, DRAWS[3], atol=0.05)
    kept = np.asarray(found.wide.factor) / WIDEN
    assert np.linalg.eigvalsh(kept @ kept.T).min() > 0.5 * np.linalg.eigvalsh(covariance(DRAWS)).min()
    assert partial(values, found)(DRAWS[:10]).shape == (10,)
