"""Delayed acceptance converges to the target whatever the first stage is."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tsnl.sampling.delayed import Walkers, advance
from tsnl.sampling.diagnostics import ess

NOISE = 0.8  # sd of the estimate's logarithm
CHAINS = 16


class Cheap(eqx.Module):
    """N(1, 0.7^2): off by one sd of the target, and too narrow."""

    def __call__(self, z):
        return -0.5 * jnp.sum((z - 1.0) ** 2) / 0.7**2


class Noisy(eqx.Module):
    """N(0, 1), times a factor of mean one."""

    def __call__(self, key, z):
        noise = NOISE * jax.random.normal(key) - 0.5 * NOISE**2
        return -0.5 * jnp.sum(z**2) + noise


def run(num_blocks, num_hops=3):
    z = jnp.zeros((CHAINS, 1))
    walkers = Walkers(z, jax.vmap(Cheap())(z), jnp.zeros(CHAINS))
    parts, runs = [], 0
    for block in range(num_blocks):
        given = (jax.random.key(0), Cheap(), Noisy(), walkers, jnp.eye(1))
        walkers, steps = advance(*given, 100 * block, 100 * block + 100, num_hops=num_hops)
        parts.append(steps.path)
        runs += steps.num_estimates
    z = np.concatenate([part.z for part in parts], axis=1)
    return z, np.concatenate([part.accepted for part in parts], axis=1), runs


def test_converges_to_the_target_itself():
    z, accepted, runs = run(30)
    z = z[:, 200:]
    size = ess(z)[0]
    assert size > 500
    assert abs(z.mean()) < 4.5 / size**0.5
    assert abs(z.var() - 1) < 4.5 * (2 / size) ** 0.5
    assert accepted.sum() <= runs < accepted.size  # where no hop was taken, nothing was estimated


def test_the_same_key_gives_the_same_steps():
    np.testing.assert_array_equal(run(1)[0], run(1)[0])
    moved = np.abs(np.diff(run(1)[0], axis=1))[:, :, 0] > 0
    np.testing.assert_array_equal(moved, run(1)[1][:, 1:] > 0)


def test_too_many_steps_in_one_call():
    walkers = Walkers(jnp.zeros((2, 1)), jnp.zeros(2), jnp.zeros(2))
    with pytest.raises(ValueError, match="101 steps, expected 1 to 100"):
        advance(jax.random.key(0), Cheap(), Noisy(), walkers, jnp.eye(1), 0, 101, num_hops=1)
