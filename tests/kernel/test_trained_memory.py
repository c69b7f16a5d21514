"""Training takes its gradients through a memory that has weights."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from tsnl.kernel import Head, Memory
from tsnl.kernel.ensemble import train
from tsnl.kernel.examples import Examples
from tsnl.kernel.member import Member
from tsnl.kernel.memory import Beside
from tsnl.kernel.split import split
from tsnl.kernel.training import Training

RATE, SD, N, LENGTH = 0.8, 0.5, 30, 40
OPTIONS = Training(
    num_members=2, min_steps=300, max_steps=300, batch_size=400, learning_rate=0.1, check_every=50
)


class Level(Memory):
    """An exponentially weighted mean whose rate is trained; it stays where nothing is seen."""

    logit: Array

    def init(self):
        return jnp.zeros(1)

    def push(self, state, y, seen, u):
        rate = jax.nn.sigmoid(self.logit)
        return jnp.where(seen, rate * state + (1 - rate) * y, state)

    def features(self, state):
        return state


class Around(Head):
    """y ~ N(the level, exp(log_sd)^2)."""

    log_sd: Array

    def log_prob(self, y, features, theta):
        return jax.scipy.stats.norm.logpdf(y[0], features[0], jnp.exp(self.log_sd))

    def sample(self, key, features, theta):
        raise NotImplementedError


def data(share_missing=0.0):
    """Exponential smoothing's own model, a moving average of differences.

    With e_t = y_t - level_{t-1} the level's slope in the rate is D_t = rate D_{t-1} - e_t, of variance
    SD^2 / (1 - rate^2): a row tells 1 / (1 - rate^2) of the rate.
    """
    rng = np.random.default_rng(0)
    y, seen = np.zeros((N, LENGTH)), rng.uniform(size=(N, LENGTH)) >= share_missing
    level = np.zeros(N)
    for t in range(LENGTH):
        y[:, t] = level + SD * rng.normal(size=N)
        level = np.where(seen[:, t], RATE * level + (1 - RATE) * y[:, t], level)
    use, held = split(rng, np.ones((N, LENGTH), bool), 2, 0.2, 0)
    rows, flags = (jnp.asarray(x[..., None]) for x in (y.astype(np.float32), seen))
    return Examples(rows, flags, jnp.zeros((N, LENGTH, 0)), jnp.zeros((N, 1))), use, held


@cache
def fitted(share_missing):
    examples, use, held = data(share_missing)
    logits = jnp.array([-1.0, 0.0])  # rates of 0.27 and 0.5
    members = Member(Beside((Level(logits),)), Around(jnp.zeros(2)), 0)
    return train(jax.random.key(0), members, examples, use, held, OPTIONS)


def rates(members):
    return np.asarray(jax.nn.sigmoid(members.memory.parts[0].logit))


def test_the_rate_moves_to_the_best_one():
    members, fit = fitted(0.0)
    num_rows = 0.8 * N * LENGTH
    error = np.sqrt((1 - RATE**2) / num_rows)
    np.testing.assert_allclose(rates(members), RATE, atol=4.5 * error)
    np.testing.assert_allclose(members.head.log_sd, np.log(SD), atol=4.5 / np.sqrt(2 * num_rows))
    loss = np.log(SD) + 0.5 * np.log(2 * np.pi * np.e)
    assert abs(fit.held_out_loss - loss) < 4.5 * np.sqrt(0.5 / (N * LENGTH - num_rows))
    assert fit.num_retries == 0


def test_with_gaps_too():
    """Where nothing is seen the level stays, and so does its slope: a row tells as much as without."""
    members, _ = fitted(0.3)
    error = np.sqrt((1 - RATE**2) / (0.8 * N * LENGTH))
    np.testing.assert_allclose(rates(members), RATE, atol=4.5 * error)


def test_it_is_the_maximum_of_the_likelihood():
    """By a search over the rate, on the rows that each member learned from."""
    examples, use, _ = data()
    y = np.asarray(examples.y, dtype=float)[..., 0]
    grid = np.linspace(0.6, 0.95, 351)
    level, squares = np.zeros((len(grid), N)), []
    for t in range(LENGTH):
        squares.append((y[:, t] - level) ** 2)
        level = grid[:, None] * level + (1 - grid[:, None]) * y[:, t]
    total = np.stack(squares, axis=2)
    best = [grid[np.argmin(np.where(one, total, 0.0).sum(axis=(1, 2)))] for one in use]
    error = np.sqrt((1 - RATE**2) / (0.8 * N * LENGTH))
    np.testing.assert_allclose(rates(fitted(0.0)[0]), best, atol=0.5 * error)


def test_members_have_features_of_their_own():
    examples, _, _ = data()
    members, _ = fitted(0.0)
    each = eqx.filter_vmap(examples.along)(members)
    assert each.shape == (2, N, LENGTH, 1)
    assert (each[0, :, 1:] != each[1, :, 1:]).any()
