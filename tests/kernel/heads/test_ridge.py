"""Where regressions start, and how large weights on the past of other columns may be."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tsnl.kernel import Decays, KernelSpec, Lags, Mixture, learn
from tsnl.kernel.examples import Examples
from tsnl.kernel.heads.base import Rows, num_features
from tsnl.kernel.heads.ridge import ridge_start
from tsnl.kernel.heads.weight_prior import of_others
from tsnl.kernel.member import first_of, fresh_members

MEMORY = (Lags(2), Decays((0.5,)))
SINGLE = Mixture(num_components=1, width=0)


def spec(memory=MEMORY, d_y=1, size=1):
    return KernelSpec(SINGLE, memory, d_y, 0, size, num_members=3)


def autoregressions(n=200, length=60):
    """AR(1) with coefficient 0.4 + 0.2 theta and log sd -0.5 + 0.3 theta."""
    rng = np.random.default_rng(0)
    theta, y = rng.normal(size=(n, 1)), np.zeros((n, length, 1))
    for t in range(length):
        before = y[:, t - 1] if t else np.zeros((n, 1))
        noise = np.exp(-0.5 + 0.3 * theta) * rng.normal(size=(n, 1))
        y[:, t] = (0.4 + 0.2 * theta) * before + noise
    return jnp.asarray(y, dtype=float), jnp.asarray(theta, dtype=float)


def examples_of(y, theta):
    return Examples(y, jnp.ones(y.shape, bool), jnp.zeros((*y.shape[:2], 0)), theta)


@eqx.filter_jit
def ridge(y, theta, use, memory=MEMORY):
    """Where the regressions start, from the rows that training would give them."""
    made, examples = spec(memory), examples_of(y, theta)
    features = examples.along(first_of(fresh_members(jax.random.key(0), made)))
    rows = learn._rows(examples, features, use, jnp.ones(()))
    return ridge_start(rows._replace(y=rows.y[:, 0]), made.groups())


def test_ridge_start_finds_an_autoregression():
    y, theta = autoregressions()
    mean, offset = ridge(y, theta, jnp.ones(y.shape[:2], bool), (Lags(2),))
    # 12000 windows: a standard error is about 0.01, and the ridge shrinks by less
    np.testing.assert_allclose(mean[:, 0], [0.4, 0.2], atol=0.06)
    np.testing.assert_allclose(mean[:, 1], 0, atol=0.06)
    np.testing.assert_allclose(offset[:, 0], 0, atol=0.06)
    np.testing.assert_allclose(offset[:2, 1], [-0.5, 0.3], atol=0.06)
    np.testing.assert_allclose(offset[2, 1], 0, atol=0.06)


def test_ridge_start_uses_only_what_it_may():
    y, theta = autoregressions(n=20, length=20)
    use = jnp.arange(20)[:, None] < jnp.full(20, 10)
    spoilt = y.at[10:].set(1e3)
    both = (jax.tree.leaves(ridge(rows, theta, use)) for rows in (y, spoilt))
    for a, b in zip(*both, strict=True):
        np.testing.assert_array_equal(a, b)


def test_other_columns_that_say_nothing_do_not_make_rows_seem_less_noisy():
    """560 weights on 2,000 rows, all but two of them zero: unshrunk they explain 28 % of the noise."""
    rng, n, sd = np.random.default_rng(0), 2000, 0.7
    groups = spec((Lags(4), Decays()), d_y=20).groups()
    count = num_features(groups)
    c, theta = rng.normal(size=(n, count)), rng.normal(size=(40, 1))
    y = 0.6 * c[:, 0] + 0.3 * c[:, 20] + sd * rng.normal(size=n)
    rows = Rows(*(jnp.asarray(x, dtype=float) for x in (y, c, theta)), jnp.arange(n) % 40, jnp.ones(()))
    others = jnp.asarray(of_others(groups, 20)[0])
    assert not others[0]
    assert not others[20]  # the second lag of the first column
    assert others[1]
    mean, offset = ridge_start(rows, groups, others)
    np.testing.assert_allclose(np.exp(offset[0, 1]), sd, atol=4.5 * sd / np.sqrt(2 * n))
    np.testing.assert_allclose(mean[0, [0, 20]], [0.6, 0.3], atol=4.5 * sd / np.sqrt(n))
    assert np.exp(ridge_start(rows, groups)[1][0, 1]) < 0.9 * sd


def test_other_columns_that_say_much_keep_their_weights():
    rng, n = np.random.default_rng(0), 2000
    groups = spec(d_y=2).groups()
    count = num_features(groups)
    c, theta = rng.normal(size=(n, count)), rng.normal(size=(40, 1))
    y = 0.8 * c[:, 1] + 0.1 * rng.normal(size=n)
    rows = Rows(*(jnp.asarray(x, dtype=float) for x in (y, c, theta)), jnp.arange(n) % 40, jnp.ones(()))
    mean, _ = ridge_start(rows, groups, jnp.asarray(of_others(groups, 2)[0]))
    np.testing.assert_allclose(mean[0, 1], 0.8, atol=4.5 * 0.1 / np.sqrt(n) + 0.001)


def test_an_ensemble_starts_at_the_ridge():
    y, theta = autoregressions(n=20, length=20)
    use = np.ones((3, 20, 20), bool)
    members, examples = learn._start(jax.random.key(0), spec(), examples_of(y, theta), use, 1.0)
    assert examples.features.shape == (20, 20, 6)
    mean, offset = ridge(y, theta, jnp.asarray(use[0]))
    for m in range(3):
        np.testing.assert_allclose(members.head.parts.mean[m, 0], mean, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(members.head.parts.offset[m, 0], offset, rtol=1e-3, atol=1e-5)


def test_the_ridge_is_the_same_in_blocks(monkeypatch):
    y, theta = autoregressions(n=20, length=20)
    use = jnp.ones((20, 20), bool)
    whole = ridge(y, theta, use)
    monkeypatch.setattr("tsnl.kernel.heads.ridge.BLOCK", 150)  # of 400 rows: the last is not full
    for a, b in zip(whole, ridge.__wrapped__(y, theta, use), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)
