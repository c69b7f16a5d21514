"""Probabilities of counts: they sum to one, draws follow them, and mixed columns are one law."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import kstest

from tsnl.kernel import Group, KernelSpec, Lags, Mixture, Scaling
from tsnl.kernel.examples import head_rows

GROUPS = (Group((1.0, 1.0), (0.3, 0.3)),)
FEATURES, THETA = jnp.array([0.4, -0.8]), jnp.array([0.5])
COUNTS = np.arange(400.0)


def scaling(transform, d_y=1):
    one = jnp.ones(d_y)
    return Scaling(
        3.0 * one, 1.5 * one, 2.0 * one, jnp.zeros(1), jnp.ones(1), (transform,) * d_y, low=0.0 * one
    )


def spec(integer):
    return KernelSpec(Mixture(3, 8, 1), (Lags(1),), len(integer), 0, 1, 2, integer=integer)


@cache
def head(integer):
    """Random weights, so that nothing is at its special start."""
    made = Mixture(3, 8, 1).make_counts(jax.random.key(0), len(integer), GROUPS, 1, integer)
    rng = np.random.default_rng(1)
    arrays, static = eqx.partition(made, eqx.is_inexact_array)
    noisy = jax.tree.map(lambda x: jnp.asarray(x + 0.2 * rng.normal(size=x.shape), x.dtype), arrays)
    return eqx.combine(noisy, static)


def coupled():
    """A head of a count and a real that hangs on it."""
    made = head((True, False))
    return eqx.tree_at(lambda h: h.parts.couple, made, made.parts.couple + 2.0)


def evaluate(integer, transform, rows, own=None):
    """Log-probabilities and tails of rows in the user's units."""
    units = scaling(transform, len(integer))
    y = head_rows(spec(integer), units, jnp.asarray(rows, dtype=float))
    features = jnp.broadcast_to(FEATURES, (len(rows), 2))
    call = eqx.filter_jit(
        lambda h: (h.log_probs(y, features, THETA), *h.conditionals(y, features, THETA)[1:])
    )
    found = call(head(integer) if own is None else own)
    return [np.asarray(x, dtype=float) for x in found]


@pytest.mark.parametrize("transform", ["none", "asinh"])
def test_probabilities_sum_to_one(transform):
    log_p, below, above = evaluate((True,), transform, COUNTS[:, None])
    np.testing.assert_allclose(np.exp(log_p).sum() + above[-1, 0], 1, atol=1e-4)
    np.testing.assert_allclose(below[:, 0] + np.exp(log_p) + above[:, 0], 1, atol=1e-4)
    np.testing.assert_allclose(below[1:, 0], np.cumsum(np.exp(log_p))[:-1], atol=1e-4)
    assert below[0, 0] < 1e-6  # nothing is below the lowest count


@pytest.mark.parametrize("transform", ["none", "asinh"])
def test_draws_follow_the_probabilities(transform):
    keys = jax.random.split(jax.random.key(0), 20_000)
    units = scaling(transform)
    draw = jax.jit(jax.vmap(lambda k: head((True,)).sample(k, FEATURES, THETA)))
    y = np.maximum(np.round(np.asarray(units.restore(draw(keys)))), 0)[:, 0]
    log_p, _, _ = evaluate((True,), transform, COUNTS[:, None])
    p = np.exp(log_p[:8])
    share = np.array([(y == k).mean() for k in range(8)])
    assert (np.abs(share - p) < 4.5 * np.sqrt(p * (1 - p) / len(y)) + 1e-4).all()


def test_a_count_and_a_real_are_one_law():
    grid = np.linspace(-60, 60, 1201)
    counts = np.arange(60.0)
    rows = np.stack([x.ravel() for x in np.meshgrid(counts, grid, indexing="ij")], axis=1)
    log_p, _, _ = evaluate((True, False), "none", rows)
    density = np.exp(log_p + np.log(1 / 2.0)).reshape(60, -1)  # the Jacobian of the real column
    np.testing.assert_allclose(np.trapezoid(density, grid, axis=1).sum(), 1, atol=2e-3)


def test_a_real_is_drawn_given_the_count_that_came_out():
    """The law knows a count as a whole number, not as what was rounded to it."""
    units, n = scaling("none", 2), 20_000

    def whole(rows):
        return jnp.where(np.array([True, False]), jnp.maximum(jnp.round(rows), 0), rows)

    def settle(v):
        return units.standardise(whole(units.restore(v)))

    features = jnp.broadcast_to(FEATURES, (n, 2))
    draw = eqx.filter_jit(lambda h: h.samples(jax.random.key(0), features, THETA, settle))
    drawn = whole(units.restore(draw(coupled())))
    below = evaluate((True, False), "none", drawn, coupled())[1][:, 1]
    assert kstest(below, "uniform").statistic < 1.95 / np.sqrt(n)


def test_gradients_are_finite_far_out():
    y = head_rows(spec((True,)), scaling("none"), jnp.array([[0.0], [1.0], [1e6]]))
    gradient = eqx.filter_jit(
        eqx.filter_grad(lambda h: jnp.sum(h.log_probs(y, jnp.broadcast_to(FEATURES, (3, 2)), THETA)))
    )
    leaves = jax.tree.leaves(gradient(head((True,))))
    assert all(jnp.isfinite(x).all() for x in leaves)
