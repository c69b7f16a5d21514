from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from tsnl.kernel import Head, Lags, training
from tsnl.kernel.examples import Examples, Units
from tsnl.kernel.member import Member
from tsnl.kernel.objective import ENTRIES, FEWEST, MOST, WARM, WINDOW, Objective

N, LENGTH = 5, 6


class Line(Head):
    weights: Array

    def log_prob(self, y, features, theta):
        mean = self.weights[0] * theta[0] + self.weights[1] * features[0]
        return jax.scipy.stats.norm.logpdf(y[0], mean, 1.0)

    def sample(self, key, features, theta):
        raise NotImplementedError

    def penalty(self):
        return jnp.sum(self.weights**2)


MEMBER = Member(Lags(1).make(jax.random.key(0), 1, 0), Line(jnp.array([0.5, 0.3])), 0)
FIXED = eqx.filter(MEMBER, lambda _: False)
RNG = np.random.default_rng(0)
Y, THETA = RNG.normal(size=(N, LENGTH)).astype(np.float32), RNG.normal(size=(N, 1)).astype(np.float32)
USE = RNG.uniform(size=(N, LENGTH)) < 0.6
USE[2] = False
EXAMPLES = Examples(
    jnp.asarray(Y[..., None]),
    jnp.ones((N, LENGTH, 1), bool),
    jnp.zeros((N, LENGTH, 0)),
    jnp.asarray(THETA),
)
GIVEN = replace(EXAMPLES, features=EXAMPLES.along(MEMBER))
WAYS = pytest.mark.parametrize("examples", [GIVEN, EXAMPLES], ids=["row by row", "series by series"])


def objective(examples):
    tree, static = eqx.partition(MEMBER, eqx.is_inexact_array)
    weights, restore = ravel_pytree(tree)
    return Objective(examples, restore, static), weights


def naive(weights, use):
    """Minus the mean log-density of the rows in use, and its gradient."""
    before = np.concatenate([np.zeros((N, 1)), Y[:, :-1]], axis=1)
    left = (Y - weights[0] * THETA - weights[1] * before)[use]
    slopes = [-(left * np.broadcast_to(x, Y.shape)[use]).mean() for x in (THETA, before)]
    return 0.5 * (left**2).mean() + 0.5 * np.log(2 * np.pi), np.array(slopes)


@WAYS
def test_all_units_give_the_mean_over_the_rows_in_use(examples):
    loss, weights = objective(examples)
    units = jnp.flatnonzero(loss.units(jnp.asarray(USE)))
    assert len(units) == (USE.any(1).sum() if examples.features is None else USE.sum())
    value = jax.jit(jax.value_and_grad(lambda w, k: loss(w, FIXED, units, jnp.asarray(USE), k)))
    expected, slope = naive(np.array([0.5, 0.3]), USE)
    found, gradient = value(weights, 0.0)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(gradient, slope, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(value(weights, 2.0)[0], expected + 2 * (0.25 + 0.09), rtol=1e-5)


@WAYS
def test_a_step_sees_about_as_many_rows_as_asked_for(examples):
    many = jax.tree.map(lambda x: jnp.repeat(x, 20, axis=0), examples)
    loss, _ = objective(many)
    assert loss.size(72) == (MOST if examples.features is None else 72)  # series are short
    if examples.features is None:
        assert objective(examples)[0].size(72) == N


def long_series(length, d_y=1, n=40):
    """Series of which each row says its time."""
    times = jnp.broadcast_to(jnp.arange(length, dtype=float)[:, None], (n, length, d_y))
    return Examples(times, jnp.ones(times.shape, bool), times[..., :0], jnp.zeros((n, 1)))


@pytest.mark.parametrize(("length", "d_y"), [(100, 1), (400, 1), (100, 5), (100, 40)])
def test_a_step_has_about_as_many_entries_whatever_the_shape(length, d_y):
    loss, _ = objective(long_series(length, d_y))
    n, rows = loss.size(512), min(length, WINDOW)
    assert n == max(FEWEST, ENTRIES // (rows * d_y))
    assert (loss.windows(jax.random.key(0), n) is None) == (length <= WINDOW)


def test_windows_see_all_rows_about_as_often_and_leave_out_those_that_fill_the_memory():
    length = WINDOW + 150
    loss, weights = objective(long_series(length))
    keys = jax.random.split(jax.random.key(0), 4000)
    first = np.asarray(jax.vmap(lambda key: loss.windows(key, 1)[0])(keys))
    assert (first.min(), first.max()) == (0, length - WINDOW)
    warm = np.where(first > 0, WARM, 0)
    seen = np.zeros(length)
    for a, w in zip(first, warm, strict=True):
        seen[a + w : a + WINDOW] += 1
    assert (seen > 0.5 * seen.mean()).all()  # the ends, and rows near them, too
    assert (seen < 2.0 * seen.mean()).all()
    use = jnp.ones((40, length), bool)
    units, windows = jnp.array([0, 1]), jnp.array([0, 30])
    found = jax.jit(lambda w: loss(w, FIXED, units, use, 0.0, windows))(weights)
    rows = np.concatenate([np.arange(WINDOW), np.arange(30 + WARM, 30 + WINDOW)]).astype(float)
    before = np.maximum(rows - 1, 0)
    expected = 0.5 * np.mean((rows - 0.3 * before) ** 2) + 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@WAYS
def test_units_are_picked_from_those_in_use(examples):
    loss, _ = objective(examples)
    units = np.asarray(loss.units(jnp.asarray(USE)))
    picked = Units.of(jnp.asarray(units)).evenly(2 * len(units))
    assert set(np.asarray(picked).tolist()) == set(np.flatnonzero(units).tolist())


def test_pieces_of_rows_have_the_gradient_of_all(monkeypatch):
    loss, weights = objective(GIVEN)
    rows = jnp.flatnonzero(loss.units(jnp.asarray(USE)))[:12]
    given = (weights, FIXED, rows, jnp.asarray(USE), 0.1)
    whole = loss.gradient(*given)
    monkeypatch.setattr(training, "PIECE", 4)
    assert training.num_pieces(12) == 3
    np.testing.assert_allclose(loss.gradient(*given), whole, rtol=1e-5)
