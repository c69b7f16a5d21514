import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tsnl.sampling.resampling import ess, resample, systematic

WEIGHTS = arrays(
    np.float64,
    st.sampled_from([1, 2, 7, 40]),  # few sizes: each is compiled once
    elements=st.one_of(st.just(0.0), st.floats(0.01, 1.0)),
).filter(lambda w: w.sum() > 0)
RESAMPLE = jax.jit(systematic)
SEEDS = st.integers(0, 2**31 - 1)


@given(weights=WEIGHTS, seed=SEEDS)
def test_counts_are_the_nearest_integers(weights, seed):
    n = len(weights)
    with jax.enable_x64(True):
        ancestors = np.asarray(RESAMPLE(jax.random.key(seed), jnp.asarray(weights)))
    expected = n * weights / weights.sum()
    counts = np.bincount(ancestors, minlength=n)
    assert counts.sum() == n
    assert (counts >= np.floor(expected - 1e-9)).all()
    assert (counts <= np.ceil(expected + 1e-9)).all()
    assert (np.diff(ancestors) >= 0).all()


@given(weights=WEIGHTS, count=st.sampled_from([1, 5, 60]), offset=st.floats(0, 0.999))
def test_any_number_of_places_on_the_host(weights, count, offset):
    """Place j is (j + offset) / count of the total weight: the particle whose weight covers it."""
    found = resample(weights, count, offset)
    copies = np.bincount(found, minlength=len(weights))
    assert copies.sum() == count
    assert (np.abs(copies - count * weights / weights.sum()) < 1 + 1e-6).all()
    cumulative, places = np.cumsum(weights), (np.arange(count) + offset) / count * weights.sum()
    assert (cumulative[found] >= places - 1e-9).all()
    assert (cumulative[found] - weights[found] <= places + 1e-9).all()


@pytest.mark.parametrize("count", [3, 40, 100])
def test_the_host_takes_the_same_ancestors(count):
    weights = np.random.default_rng(0).dirichlet(np.ones(40))
    weights[::7] = 0
    with jax.enable_x64(True):
        key = jax.random.key(1)
        found = systematic(key, jnp.asarray(weights), count)
        np.testing.assert_array_equal(resample(weights, count, float(jax.random.uniform(key))), found)


def test_counts_are_right_on_average():
    weights = jnp.array([0.5, 0.03, 0.0, 0.27, 0.2])
    n = 20_000
    draws = jax.vmap(lambda k: systematic(k, weights))(jax.random.split(jax.random.key(0), n))
    counts = jnp.stack([jnp.sum(draws == i, axis=1) for i in range(5)], axis=1)
    fraction = np.asarray(5 * weights) % 1
    error = np.sqrt(np.maximum(fraction * (1 - fraction), 1e-12) / n)
    assert (np.abs(counts.mean(0) - 5 * np.asarray(weights)) <= 4.5 * error + 1e-6).all()


@given(weights=WEIGHTS)
def test_effective_size_lies_between_one_and_n(weights):
    weights = weights / weights.sum()
    size = float(ess(jnp.asarray(weights)))
    assert 1 - 1e-5 <= size <= np.sum(weights > 0) * (1 + 1e-5)
    np.testing.assert_allclose(ess(jnp.full(8, 1 / 8)), 8, rtol=1e-6)
