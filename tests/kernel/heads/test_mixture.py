from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from tsnl.kernel import Decays, KernelSpec, Lags, Mixture, learn
from tsnl.kernel.examples import Examples
from tsnl.kernel.heads.base import Rows, num_features
from tsnl.kernel.heads.regression import earlier
from tsnl.kernel.heads.ridge import ridge_start
from tsnl.kernel.heads.weight_prior import make_table, of_others
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


def test_weights_of_own_and_other_columns_are_groups_apart():
    for d_y in (1, 3):
        groups = spec(d_y=d_y).groups()
        parts = SINGLE.make(jax.random.key(0), d_y, groups, 1).parts
        table, sizes = make_table(parts, groups), [leaf.size for leaf in jax.tree.leaves(parts)]
        first = table.group[: sizes[0]].reshape(parts.mean.shape)[:, 0]  # of the mean, at theta's centre
        for j in range(d_y):
            lags = first[j, : 2 * d_y].reshape(2, d_y)
            assert len(set(lags[:, j])) == 1
            assert len(set(lags.ravel())) == min(d_y, 2)
            assert set(lags[:, j]).isdisjoint(np.delete(lags, j, axis=1).ravel())


def features_of(d_y, rng):
    """Lags, no marks, averages."""
    parts = rng.normal(size=2 * d_y), np.zeros(2 * d_y), rng.normal(size=2 * d_y)
    return jnp.asarray(np.concatenate(parts), dtype=float)


def test_by_hand_it_is_a_gaussian():
    """Mean linear in the features, log-scale linear in theta, one component of width one."""
    head = SINGLE.make(jax.random.key(0), 1, spec().groups(), 1)
    part = eqx.tree_at(lambda p: p.shape, head.parts, jnp.zeros((1, 3)))
    part = eqx.tree_at(lambda p: p.mean, part, part.mean.at[0, :, 0].set(jnp.array([0.5, 0.1])))
    part = eqx.tree_at(lambda p: p.offset, part, jnp.array([[[0.2, -0.3], [0.0, 0.4], [0.0, 0.0]]]))
    head = eqx.tree_at(lambda h: h.parts, head, part)
    here, theta, y = features_of(1, np.random.default_rng(0)), 0.7, 1.3
    expected = scipy.stats.norm.logpdf(
        y, (0.5 + 0.1 * theta) * float(here[0]) + 0.2, np.exp(-0.3 + 0.4 * theta)
    )
    found = head.log_prob(jnp.array([y]), here, jnp.array([theta]))
    np.testing.assert_allclose(found, expected, rtol=1e-3)  # bounded far out: nearly linear here


def test_weights_that_bend_with_theta():
    """The weight of the first feature is 0.5 + 0.1 theta + 0.2 (theta^2 - 1)."""
    bent = replace(SINGLE, curved=True).make(jax.random.key(0), 1, spec().groups(), 1)
    part = eqx.tree_at(lambda p: p.shape, bent.parts, jnp.zeros((1, 3)))
    assert part.mean.shape == (1, 3, 6)
    part = eqx.tree_at(lambda p: p.mean, part, part.mean.at[0, :, 0].set(jnp.array([0.5, 0.1, 0.2])))
    head = eqx.tree_at(lambda h: h.parts, bent, part)
    here, theta, y = features_of(1, np.random.default_rng(0)), 0.2, 1.3
    weight = 0.5 + 0.1 * theta + 0.2 * (theta**2 - 1)
    found = head.log_prob(jnp.array([y]), here, jnp.array([theta]))
    expected = scipy.stats.norm.logpdf(y, weight * float(here[0]), 1.0)
    np.testing.assert_allclose(found, expected, rtol=1e-3)
    assert np.isfinite(head.penalty())
    assert head.penalty() > bent.penalty()


def test_bent_features_in_mean_and_scale():
    """The mean is 0.5 tanh(c_1 - 0.2), its weight 0.1 more with theta."""
    bent = replace(SINGLE, bends=1).make(jax.random.key(0), 1, spec().groups(), 1)
    part = eqx.tree_at(lambda p: p.shape, bent.parts, jnp.zeros((1, 3)))
    assert part.mean.shape == (1, 2, 7)
    slope = (jnp.zeros((1, 6, 1)).at[:, 0].set(1.0), jnp.array([[-0.2]]))
    part = eqx.tree_at(lambda p: p.bends, part, slope)
    part = eqx.tree_at(lambda p: p.mean, part, part.mean.at[0, :, 6].set(jnp.array([0.5, 0.1])))
    head = eqx.tree_at(lambda h: h.parts, bent, part)
    here, theta, y = features_of(1, np.random.default_rng(0)), 0.2, 1.3
    mean = (0.5 + 0.1 * theta) * np.tanh(float(here[0]) - 0.2)
    found = head.log_prob(jnp.array([y]), here, jnp.array([theta]))
    np.testing.assert_allclose(found, scipy.stats.norm.logpdf(y, mean, 1.0), rtol=1e-3)
    assert np.isfinite(head.penalty())


def test_by_hand_it_is_a_correlated_gaussian():
    """a = sinh(r): the second residual given the first is that of normals with a / sqrt(1 + a^2)."""
    head = SINGLE.make(jax.random.key(0), 2, spec(d_y=2).groups(), 1)
    parts = eqx.tree_at(lambda p: p.shape, head.parts, jnp.zeros((2, 3)))
    parts = eqx.tree_at(lambda p: p.couple, parts, parts.couple.at[1, 0, 0].set(0.8))
    head = eqx.tree_at(lambda h: h.parts, head, parts)
    a = np.sinh(4 * np.tanh(0.8 / 4))
    rho = a / np.sqrt(1 + a**2)
    y = np.array([0.5, -0.4])
    expected = scipy.stats.multivariate_normal.logpdf(y, cov=[[1, rho], [rho, 1]])
    here = features_of(2, np.random.default_rng(0))
    found = head.log_prob(jnp.asarray(y, dtype=float), here, jnp.zeros(1))
    np.testing.assert_allclose(found, expected, atol=1e-3)


def leaves_of(head):
    return jax.tree.leaves(eqx.filter(head, eqx.is_inexact_array))


def test_the_penalty_is_zero_only_at_the_priors_mean():
    head = Mixture(width=3, depth=2).make(jax.random.key(0), 2, spec(d_y=2).groups(), 2)
    arrays, static = eqx.partition(head, eqx.is_inexact_array)
    leaves, tree = jax.tree.flatten(jax.tree.map(jnp.zeros_like, arrays))
    penalty = jax.jit(lambda x: eqx.combine(jax.tree.unflatten(tree, x), static).penalty())
    assert penalty(leaves) == 0
    assert head.penalty() > 0
    biases = {id(b) for _, b in head.parts.layers}
    free = [id(x) in biases for x in jax.tree.leaves(arrays)]
    for i, (leaf, is_free) in enumerate(zip(leaves, free, strict=True)):
        if leaf.size and not is_free:
            moved = [*leaves[:i], leaf + 0.1, *leaves[i + 1 :]]
            assert penalty(moved) > 0


def test_later_lags_cost_more():
    head = SINGLE.make(jax.random.key(0), 1, spec().groups(), 1)

    def cost(lag):
        moved = eqx.tree_at(lambda h: h.parts.mean, head, jnp.zeros((1, 2, 6)).at[0, 0, lag].set(1.0))
        return moved.penalty() - head.penalty()

    assert 0 < cost(0) < cost(1)


def test_an_ensemble_starts_at_the_ridge():
    y, theta = autoregressions(n=20, length=20)
    use = np.ones((3, 20, 20), bool)
    members, examples = learn._start(jax.random.key(0), spec(), examples_of(y, theta), use, 1.0)
    assert examples.features.shape == (20, 20, 6)
    mean, offset = ridge(y, theta, jnp.asarray(use[0]))
    for m in range(3):
        np.testing.assert_allclose(members.head.parts.mean[m, 0], mean, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(members.head.parts.offset[m, 0], offset, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_components": 0}, "num_components=0.*expected a component"),
        ({"depth": 0}, "depth=0.*expected a component, width and bends 0 or more, depth 1 to 100"),
        ({"width": -1}, "width=-1.*width and bends 0 or more"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        Mixture(**options)


def num_operations(jaxpr):
    """Of a program and all programs in it."""
    inner = [x for e in jaxpr.eqns for x in jax.tree.leaves(list(e.params.values()), is_leaf=is_program)]
    programs = [getattr(x, "jaxpr", x) for x in inner if is_program(x)]
    return len(jaxpr.eqns) + sum(num_operations(program) for program in programs)


def is_program(x):
    return hasattr(x, "eqns")


def test_programs_do_not_grow_with_the_columns():
    """All columns are one axis: programs for twenty of them once were gigabytes."""

    def sizes(d_y):
        groups = spec(d_y=d_y).groups()
        count, y, theta = num_features(groups), jnp.zeros((5, d_y)), jnp.zeros((5, 1))
        features, key = jnp.zeros((5, count)), jax.random.key(0)
        head = Mixture().make(key, d_y, groups, 1)
        rows = Rows(y, features, theta, jnp.arange(5), jnp.ones(()))
        arrays, static = eqx.partition(head, eqx.is_array)
        calls = (
            jax.grad(lambda a: jnp.sum(eqx.combine(a, static).log_probs(y, features, theta))),
            jax.grad(lambda a: eqx.combine(a, static).penalty()),
            lambda a: eqx.combine(a, static).sample(key, features[0], theta[0]),
            lambda a: eqx.filter(Mixture().start(eqx.combine(a, static), rows), eqx.is_array),
        )
        return [num_operations(jax.make_jaxpr(call)(arrays).jaxpr) for call in calls]

    assert sizes(20) == sizes(3)


def test_weights_of_later_columns_do_not_count():
    """Every column has weights for all but the last; those that do not come before it are idle."""
    head = Mixture(width=3, depth=1).make(jax.random.key(0), 3, spec(d_y=3).groups(), 1)
    own = num_features(head.groups)
    first, bias = head.parts.layers[0]
    idle = 1.0 - earlier(3)
    moved = eqx.tree_at(
        lambda h: (h.parts.couple, h.parts.curve, h.parts.layers[0]),
        head,
        (
            head.parts.couple + idle[:, None],
            head.parts.curve + jnp.tile(idle, 2)[:, None, :, None],
            (first.at[:, own : own + 2].add(idle[:, :, None]), bias),
        ),
    )
    assert not first[0, own : own + 2].any()  # they start at zero
    y, theta = jnp.array([0.3, -0.7, 1.2]), jnp.array([0.5])
    here = features_of(3, np.random.default_rng(0))
    np.testing.assert_array_equal(moved.log_prob(y, here, theta), head.log_prob(y, here, theta))
    np.testing.assert_array_equal(moved.penalty(), head.penalty())
    key = jax.random.key(1)
    np.testing.assert_array_equal(moved.sample(key, here, theta), head.sample(key, here, theta))


def test_the_ridge_is_the_same_in_blocks(monkeypatch):
    y, theta = autoregressions(n=20, length=20)
    use = jnp.ones((20, 20), bool)
    whole = ridge(y, theta, use)
    monkeypatch.setattr("tsnl.kernel.heads.ridge.BLOCK", 150)  # of 400 rows: the last is not full
    for a, b in zip(whole, ridge.__wrapped__(y, theta, use), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_first_weights_are_one_draw():
    """Each draw is a program to compile, and most of what a first run waits for."""
    for d_y in (1, 3):
        groups = spec(d_y=d_y).groups()
        make = eqx.filter_make_jaxpr(lambda key, g=groups, d=d_y: Mixture(bends=2).make(key, d, g, 1))
        assert str(make(jax.random.key(0))[0]).count("random_bits") == 1
