from dataclasses import replace
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from tsnl.sampling import MCMC, sample
from tsnl.sampling.diagnostics import ess
from tsnl.sampling.transitions import TRANSITIONS

ALL = pytest.mark.parametrize("transition", TRANSITIONS)
MEAN = np.array([1.0, -2.0, 0.5])
COVARIANCE = np.array([[1.0, 0.9, 0.0], [0.9, 2.0, -0.3], [0.0, -0.3, 0.25]])


class Gaussian(eqx.Module):
    mean: Array
    precision: Array

    def __call__(self, z):
        return -0.5 * (z - self.mean) @ self.precision @ (z - self.mean)


GAUSSIAN = Gaussian(jnp.asarray(MEAN, dtype=float), jnp.asarray(np.linalg.inv(COVARIANCE), dtype=float))


def skewed(z):
    """The log of a gamma variable of shape 1.5."""
    return 1.5 * z[0] - jnp.exp(z[0])


@cache
def gaussian(transition, seed=0):
    options = MCMC(transition, num_chains=4, num_warmup=400, num_draws=1000, max_extensions=4)
    start = jax.random.normal(jax.random.key(9), (4, 3))
    return sample(jax.random.key(seed), GAUSSIAN, start, jnp.eye(3), options)


def error_of_mean(values):
    """Standard error of the mean of (chain, draw, k), from the effective size."""
    return values.std((0, 1)) / np.sqrt(ess(values))


@ALL
def test_mean_and_covariance_of_a_gaussian(transition):
    found = gaussian(transition)
    z = found.z.astype(float)
    assert (abs(z.mean((0, 1)) - MEAN) < 4.5 * error_of_mean(z)).all()
    i, j = np.triu_indices(3)
    products = ((z - MEAN)[..., i] * (z - MEAN)[..., j]).astype(np.float64)
    assert (abs(products.mean((0, 1)) - COVARIANCE[i, j]) < 4.5 * error_of_mean(products)).all()
    assert found.healthy
    assert found.num_restarted == 0
    np.testing.assert_allclose(
        found.log_density[0, :3], [GAUSSIAN(v) for v in found.z[0, :3]], rtol=1e-3
    )


@ALL
def test_the_same_key_gives_the_same_bits(transition):
    np.testing.assert_array_equal(gaussian(transition).z, gaussian.__wrapped__(transition).z)
    assert not np.array_equal(gaussian(transition).z, gaussian(transition, seed=1).z)


@ALL
def test_a_skewed_target(transition):
    options = MCMC(transition, num_chains=4, num_warmup=200, num_draws=1500, max_extensions=1)
    found = sample(jax.random.key(1), skewed, jnp.zeros((4, 1)), jnp.eye(1), options)
    grid = np.linspace(-25, 5, 20_001)
    density = np.exp(1.5 * grid - np.exp(grid))
    density /= np.trapezoid(density, grid)
    z = found.z.astype(float)
    for f in (lambda x: x, np.square, lambda x: 1.0 * (x < -1)):
        exact = np.trapezoid(density * f(grid), grid)
        assert abs(f(z).mean() - exact) < 4.5 * error_of_mean(f(z))[0] + 1e-3


def two_levels(z):
    """A unit Gaussian at zero, and a flat shelf far out and far below from which nothing leads back."""
    return jnp.where(jnp.abs(z[0]) < 20, -0.5 * z[0] ** 2, -1e4 - jnp.abs(z[0] - 1000.0))


def test_a_chain_in_a_far_tail_is_rescued():
    options = MCMC(num_chains=4, num_warmup=80, num_draws=50, max_extensions=0)
    start = jnp.array([[0.0], [0.5], [-0.5], [1000.0]])
    found = sample(jax.random.key(0), two_levels, start, 0.1 * jnp.eye(1), options)
    assert found.num_restarted == 1
    assert (abs(found.z) < 20).all()


def test_a_chain_at_an_impossible_point_is_rescued():
    def half(z):
        return jnp.where(z[0] > 0, -0.5 * z[0] ** 2, jnp.nan)

    options = MCMC(num_chains=4, num_warmup=80, num_draws=50, max_extensions=0)
    start = jnp.array([[1.0], [0.5], [0.2], [-1e6]])
    found = sample(jax.random.key(0), half, start, 0.1 * jnp.eye(1), options)
    assert found.num_restarted == 1
    assert (found.z > 0).all()
    assert len(np.unique(found.z)) > 4  # they move on: the step size is not NaN


def test_nowhere_to_go():
    options = MCMC(num_chains=2, num_warmup=16, num_draws=10)
    with pytest.raises(FloatingPointError, match="No Markov chain found a point of finite"):
        sample(jax.random.key(0), lambda z: z[0] * jnp.nan, jnp.zeros((2, 1)), jnp.eye(1), options)


def test_too_few_draws_are_extended():
    few = MCMC("random_walk", num_chains=4, num_warmup=200, num_draws=50, max_r_hat=1.5, min_ess=40)
    found = sample(jax.random.key(0), GAUSSIAN, jnp.zeros((4, 3)), jnp.eye(3), few)
    assert found.z.shape[1] > 50
    assert found.z.shape[1] % 50 == 0
    assert found.log_density.shape == found.z.shape[:2]
    assert found.healthy
    assert found.ess >= 40


def test_it_gives_up_after_the_extensions():
    never = MCMC(
        "random_walk", num_chains=4, num_warmup=200, num_draws=50, min_ess=10**6, max_extensions=2
    )
    found = sample(jax.random.key(0), GAUSSIAN, jnp.zeros((4, 3)), jnp.eye(3), never)
    assert found.z.shape == (4, 150, 3)
    assert not found.healthy
    np.testing.assert_allclose(found.ess, ess(found.z).min())


def test_chains_that_mix_go_on_for_more_draws_without_a_word():
    few = MCMC("random_walk", num_chains=4, num_warmup=200, num_draws=50, max_r_hat=1.5, min_ess=40)
    more = replace(few, target_ess=160)
    found = sample(jax.random.key(0), GAUSSIAN, jnp.zeros((4, 3)), jnp.eye(3), more)
    assert found.ess >= 160
    never = replace(few, target_ess=10**6, max_extensions=6)
    found = sample(jax.random.key(0), GAUSSIAN, jnp.zeros((4, 3)), jnp.eye(3), never)
    assert found.healthy
    assert not found.health_note


def test_one_parameter_by_random_walk_and_more_by_the_mixed_transition():
    assert [MCMC().transition_for(size) for size in (1, 2, 5)] == ["random_walk", "mixed", "mixed"]
    assert MCMC("nuts").transition_for(1) == "nuts"


def test_ten_parameters_from_far_out():
    """Where the random walk is not done after all its extensions, the mixed transition is."""
    scales = jnp.asarray(np.geomspace(0.1, 1.0, 10), dtype=float)
    start = jax.random.normal(jax.random.key(3), (20, 10))
    found = {
        transition: sample(
            jax.random.key(0),
            lambda z: -0.5 * jnp.sum((z / scales) ** 2),
            start,
            0.05 * jnp.eye(10),
            MCMC(transition),
        )
        for transition in ("auto", "random_walk")
    }
    z = found["auto"].z.astype(float)
    assert found["auto"].healthy
    assert not found["random_walk"].healthy
    assert (abs(z.mean((0, 1))) < 4.5 * error_of_mean(z)).all()
    assert (abs((z**2).mean((0, 1)) - scales**2) < 4.5 * error_of_mean(z**2)).all()


@pytest.mark.parametrize("size", [1, 3])
def test_two_modes_get_their_share(size):
    """Twenty sds apart, 0.3 to 0.7: no walk leads from one to the other."""
    centre = jnp.zeros(size).at[0].set(3.0)

    def two(z):
        logs = [-0.5 * jnp.sum((z - sign * centre) ** 2) / 0.3**2 for sign in (1, -1)]
        return jnp.logaddexp(jnp.log(0.3) + logs[0], jnp.log(0.7) + logs[1])

    start = 3 * np.random.default_rng(0).normal(size=(300, size))
    found = sample(jax.random.key(0), two, start, 3 * np.eye(size), MCMC())
    right = (found.z[..., :1] > 0).astype(float)
    assert abs(right.mean() - 0.3) < 4.5 * error_of_mean(right)[0]
    assert error_of_mean(right)[0] < 0.05  # they go back and forth


@pytest.mark.slow
def test_twenty_parameters_of_different_scales():
    scales = np.sqrt(1.0 + np.arange(20))
    start = np.random.default_rng(0).normal(size=(200, 20))
    found = sample(
        jax.random.key(0), lambda z: -0.5 * jnp.sum((z / scales) ** 2), start, 0.3 * np.eye(20), MCMC()
    )
    z = found.z.astype(float)
    assert found.r_hat < 1.05
    assert (abs((z**2).mean((0, 1)) - scales**2) < 4.5 * error_of_mean(z**2)).all()


def test_draws_that_were_fitted_again_to_are_left_out():
    never = MCMC("mixed", num_chains=4, num_draws=50, min_ess=10**6, max_extensions=5)
    found = sample(jax.random.key(0), GAUSSIAN, jnp.zeros((4, 3)), jnp.eye(3), never)
    assert found.z.shape == (4, 150, 3)  # six times 50, of which three were a longer warm-up


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"transition": "gibbs"}, "transition is 'gibbs', expected one of"),
        ({"num_chains": 1}, "num_chains is 1: too few"),
        ({"num_warmup": 5}, "num_warmup is 5: too few"),
        ({"num_draws": 0}, "num_draws is 0: too few"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        MCMC(**options)
