import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tsnl.sampling.metropolis import accept, rescue
from tsnl.sampling.pseudo_marginal import Chains


def test_proposals_are_taken_with_the_probability_of_their_ratio():
    n = 20_000
    log_ratio = jnp.repeat(jnp.log(jnp.asarray([0.2, 0.7, 3.0])), n)
    new, old = jnp.ones((3 * n, 2)), jnp.zeros((3 * n, 2))
    (z, label), moved, probability = accept(
        jax.random.key(0), log_ratio, (new, new[:, 0]), (old, old[:, 0])
    )
    np.testing.assert_allclose(probability[::n], [0.2, 0.7, 1.0], rtol=1e-6)
    share = np.asarray(moved).reshape(3, n).mean(axis=1)
    assert (abs(share - [0.2, 0.7, 1.0]) <= 4.5 * np.sqrt([0.16 / n, 0.21 / n, 0])).all()
    np.testing.assert_array_equal(z, np.asarray(moved)[:, None] * np.ones(2))
    np.testing.assert_array_equal(label, moved)


def test_between_impossible_points_nothing_moves_and_nothing_is_nan():
    ratio = jnp.asarray([jnp.nan, -jnp.inf, jnp.inf])
    z, moved, probability = accept(jax.random.key(0), ratio, jnp.ones(3), jnp.zeros(3))
    np.testing.assert_array_equal(probability, [0, 0, 1])
    np.testing.assert_array_equal(moved, [False, False, True])
    np.testing.assert_array_equal(z, [0, 0, 1])


def test_rescue_moves_the_stuck_ones():
    z = jnp.arange(4.0)[:, None]
    values = jnp.asarray([-10.0, -29.0, -12.0, -jnp.inf])
    found, count = rescue(jax.random.key(0), Chains(z, values))
    assert count == 2
    np.testing.assert_array_equal(found.z[jnp.asarray([0, 2])], z[jnp.asarray([0, 2])])
    assert set(np.asarray(found.z).ravel().tolist()) <= {0.0, 2.0}
    assert rescue(jax.random.key(0), Chains(z, values), slack=5.0)[1] == 1
    assert rescue(jax.random.key(0), Chains(z, jnp.zeros(4)))[1] == 0


def test_no_chain_to_rescue_from():
    with pytest.raises(FloatingPointError, match="No Markov chain found a point of finite"):
        rescue(jax.random.key(0), Chains(jnp.zeros((2, 1)), jnp.full(2, -jnp.inf)))
