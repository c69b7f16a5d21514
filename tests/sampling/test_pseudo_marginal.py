import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tsnl.sampling.pseudo_marginal import Chains, Proposal, advance, estimates

NOISE = 0.7
SCALE = jnp.asarray([1.0, 3.0])


def log_density(key, z):
    """A normal law times log-normal noise of mean one."""
    noise = NOISE * jax.random.normal(key) - 0.5 * NOISE**2
    return -0.5 * jnp.sum((z / SCALE) ** 2) + noise


def begin(num_chains=4):
    z = jnp.ones((num_chains, 2))
    return Chains(z, jnp.zeros(num_chains)), Proposal.of(z[0], 9.0 * jnp.eye(2))


def warm():
    chains, proposal = begin()
    for first in range(0, 600, 100):
        chains, proposal, _ = advance(
            jax.random.key(0), log_density, chains, proposal, first, first + 100, rate=0.25
        )
    return chains, proposal


def test_it_learns_and_then_draws_from_the_law_without_the_noise():
    chains, proposal = warm()
    frozen = proposal
    paths = []
    for first in range(600, 8600, 100):
        chains, proposal, path = advance(
            jax.random.key(1), log_density, chains, proposal, first, first + 100
        )
        paths.append(path)
    for old, new in zip(frozen, proposal, strict=True):
        np.testing.assert_array_equal(old, new)
    z = np.concatenate([p.z for p in paths], axis=1).reshape(-1, 2)
    np.testing.assert_allclose(z.std(axis=0), SCALE, rtol=0.08)
    np.testing.assert_allclose(z.mean(axis=0) / SCALE, 0, atol=0.1)
    assert 0.15 < np.mean([p.accepted.mean() for p in paths]) < 0.35


def test_blocks_make_no_difference():
    chains, proposal = begin()
    key = jax.random.key(3)
    whole = advance(key, log_density, chains, proposal, 0, 90, rate=0.25)
    one = advance(key, log_density, chains, proposal, 0, 37, rate=0.25)
    two = advance(key, log_density, *one[:2], 37, 90, rate=0.25)
    np.testing.assert_array_equal(whole[0].z, two[0].z)
    np.testing.assert_array_equal(whole[2].z, np.concatenate([one[2].z, two[2].z], axis=1))
    assert whole[2].z.shape == (4, 90, 2)


def test_a_chain_keeps_its_estimate_while_it_stays():
    chains, proposal = begin()
    path = advance(jax.random.key(3), log_density, chains, proposal, 0, 100)[2]
    stayed = path.accepted[:, 1:] == 0
    assert stayed.any()
    assert (path.log_density[:, 1:] == path.log_density[:, :-1])[stayed].all()
    assert (path.log_density[:, 1:] != path.log_density[:, :-1])[~stayed].all()


def test_estimates_of_few_points_are_those_of_many():
    z = jnp.arange(12.0).reshape(6, 2)
    many = estimates(jax.random.key(0), log_density, z)
    np.testing.assert_array_equal(estimates(jax.random.key(0), log_density, z[:2]), many[:2])
    assert len(set(estimates(jax.random.key(0), log_density, jnp.zeros((5, 2))).tolist())) == 5


def test_too_much_at_once():
    with pytest.raises(ValueError, match="101 steps, expected 1 to 100"):
        advance(jax.random.key(0), log_density, *begin(), 0, 101)
    with pytest.raises(ValueError, match="65 points, expected at most 64"):
        estimates(jax.random.key(0), log_density, jnp.zeros((65, 2)))
