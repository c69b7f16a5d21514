from dataclasses import replace
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from tsnl.kernel import Head, Lags, ensemble
from tsnl.kernel.ensemble import train
from tsnl.kernel.examples import Examples
from tsnl.kernel.member import Member, first_of
from tsnl.kernel.split import split
from tsnl.kernel.training import Training
from tsnl.runtime import cores

TRACES = []


class Line(Head):
    """y ~ N(slope theta + a lag + bias, exp(log_sd)^2): the smallest head there is."""

    weights: Array  # slope, lag, bias, log_sd

    def log_prob(self, y, features, theta):
        TRACES.append(1)
        slope, lag, bias, log_sd = self.weights
        mean = slope * theta[0] + lag * features[0] + bias
        return jax.scipy.stats.norm.logpdf(y[0], mean, jnp.exp(log_sd))

    def sample(self, key, features, theta):
        raise NotImplementedError


TRUTH = np.array([0.5, 0.3, -0.2, np.log(0.4)])
# 4 x 125 looks at 250 held-out rows: each is seen twice
OPTIONS = Training(
    num_members=2,
    min_steps=300,
    max_steps=300,
    batch_size=125,
    learning_rate=0.05,
    check_every=25,
    patience=100,
)


def data(seed=0, n=40, length=25):
    """AR(1) series whose mean depends on theta, and the true loss of each row."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=(n, 1))
    slope, lag, bias, log_sd = TRUTH
    y, loss = np.zeros((n, length)), np.zeros((n, length))
    for t in range(length):
        before = y[:, t - 1] if t else 0.0
        noise = rng.normal(size=n)
        y[:, t] = slope * theta[:, 0] + lag * before + bias + np.exp(log_sd) * noise
        loss[:, t] = 0.5 * noise**2 + log_sd + 0.5 * np.log(2 * np.pi)
    y = jnp.asarray(y[..., None], dtype=float)
    u, theta = jnp.zeros((n, length, 0)), jnp.asarray(theta, dtype=float)
    examples = Examples(y, jnp.ones(y.shape, bool), u, theta)
    use, held = split(rng, np.ones((n, length), bool), 2, 0.25, 1)
    return replace(examples, features=along(examples, first_of(start()))), use, held, loss


def start(kind=Line):
    return Member(Lags(1).make(jax.random.key(0), 1, 0), kind(jnp.zeros((2, 4))), 0)


along = eqx.filter_jit(Examples.along)


@cache
def fitted(options=OPTIONS, seed=0, by_series=False):
    examples, use, held, _ = data(seed)
    examples = replace(examples, features=None) if by_series else examples
    return train(jax.random.key(seed), start(), examples, use, held, options)


BOTH = pytest.mark.parametrize("by_series", [False, True], ids=["row by row", "series by series"])


@BOTH
def test_learns_a_conditional_gaussian(by_series):
    members, fit = fitted(by_series=by_series)
    _, use, held, loss = data()
    # the standard error of a weight is about sd / sqrt(rows), the log-scale's 1 / sqrt(2 rows)
    n = use.sum() / 2
    np.testing.assert_allclose(members.head.weights, np.tile(TRUTH, (2, 1)), atol=4.5 / np.sqrt(n))
    true = np.mean([loss[held[m]].mean() for m in range(2)])
    assert abs(fit.held_out_loss - true) < 0.03
    assert fit.num_retries == 0
    assert fit.num_steps == 300
    assert fit.history.shape == (12, 2)


@BOTH
def test_the_best_look_is_kept(by_series):
    members, fit = fitted(by_series=by_series)
    np.testing.assert_allclose(fit.held_out_loss, fit.history.min(0).mean(), rtol=1e-5)
    examples, _, held, _ = data()
    for m in range(2):
        series, time = np.nonzero(held[m])
        rows = examples.y[series, time], examples.features[series, time], examples.theta[series]
        loss = -jax.vmap(Line(members.head.weights[m]).log_prob)(*rows).mean()
        np.testing.assert_allclose(loss, fit.history[:, m].min(), atol=1e-3)


def test_stops_when_nothing_improves():
    """Held-out rows that contradict the others get worse at every look."""
    examples, use, _, _ = data()
    wrong = replace(examples, y=examples.y.at[:, -1].set(9.0))
    last = np.zeros_like(use)
    last[:, :, -1] = True
    options = Training(
        num_members=2, min_steps=300, max_steps=300, batch_size=128, check_every=25, patience=2
    )
    _, fit = train(jax.random.key(0), start(), wrong, ~last, last, options)
    assert fit.num_steps < 300
    assert fit.num_steps % 25 == 0
    looks = np.isfinite(fit.history).sum(0)
    best = np.nanargmin(fit.history, axis=0)
    np.testing.assert_array_equal(looks, best + 1 + 2)


def test_reproducible_to_the_bit():
    again, _ = fitted.__wrapped__()
    np.testing.assert_array_equal(fitted()[0].head.weights, again.head.weights)


@pytest.mark.parametrize("number", [1, 4])
def test_the_number_of_cores_does_not_matter(number, monkeypatch):
    monkeypatch.setattr(cores, "visible_cores", lambda: number)
    again, _ = fitted.__wrapped__()
    np.testing.assert_array_equal(fitted()[0].head.weights, again.head.weights)


def test_members_see_different_series():
    weights = fitted()[0].head.weights
    assert (weights[0] != weights[1]).any()


class Fragile(Line):
    """Not a number as soon as a step is too long."""

    def log_prob(self, y, features, theta):
        safe = jnp.all(jnp.abs(self.weights) < 1.0)
        return super().log_prob(y, features, theta) * jnp.where(safe, 1.0, jnp.nan)


def test_divergence_is_tried_again_with_smaller_steps():
    examples, use, held, _ = data()
    options = Training(
        num_members=2, min_steps=50, max_steps=50, batch_size=64, learning_rate=0.3, check_every=50
    )
    members, fit = train(jax.random.key(0), start(Fragile), examples, use, held, options)
    assert 1 <= fit.num_retries <= ensemble.RETRIES
    assert np.isfinite(members.head.weights).all()
    assert np.isfinite(fit.held_out_loss)


POISONED = {"data": lambda e: e.y, "features": lambda e: e.features, "theta": lambda e: e.theta}


@pytest.mark.parametrize("poison", POISONED)
def test_poisoned_data_are_an_error(poison):
    examples, use, held, _ = data()
    examples = eqx.tree_at(POISONED[poison], examples, replace_fn=lambda x: x * jnp.nan)
    with pytest.raises(FloatingPointError, match=r"Training diverged with learning rates from 0\.05"):
        train(jax.random.key(0), start(), examples, use, held, OPTIONS)


def test_an_enormous_learning_rate_leaves_no_nan():
    examples, use, held, _ = data()
    options = Training(
        num_members=2, min_steps=50, max_steps=50, batch_size=64, learning_rate=1e6, check_every=50
    )
    try:
        members, fit = train(jax.random.key(0), start(), examples, use, held, options)
    except FloatingPointError:
        return
    assert np.isfinite(members.head.weights).all()
    assert np.isfinite(fit.held_out_loss)


def test_compiled_once_for_all_data():
    options = Training(num_members=2, min_steps=20, max_steps=20, batch_size=32, check_every=10)
    for seed in range(5):
        examples, use, held, _ = data(seed, n=6, length=8)
        train(jax.random.key(seed), start(), examples, use, held, options)
        if seed == 0:
            first = len(TRACES)
    assert len(TRACES) == first


def test_a_retry_does_not_compile_again():
    fitted()
    before = len(TRACES)
    examples, use, held, _ = data()
    with pytest.raises(FloatingPointError):
        train(
            jax.random.key(0),
            start(),
            replace(examples, theta=examples.theta * jnp.nan),
            use,
            held,
            OPTIONS,
        )
    assert len(TRACES) == before


def test_the_penalty_pulls():
    class Pulled(Line):
        def penalty(self):
            return jnp.sum((self.weights - 0.1) ** 2)

    examples, use, held, _ = data()
    strong = Training(
        num_members=2,
        min_steps=200,
        max_steps=200,
        batch_size=64,
        learning_rate=0.02,
        penalty=1e5,
        check_every=200,
    )
    members, _ = train(jax.random.key(0), start(Pulled), examples, use, held, strong)
    np.testing.assert_allclose(members.head.weights, 0.1, atol=0.05)
