from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from tsnl.kernel import Decays, KernelSpec, Lags, Mixture
from tsnl.kernel.heads.base import Rows, num_features
from tsnl.kernel.heads.regression import earlier

MEMORY = (Lags(2), Decays((0.5,)))
SINGLE = Mixture(num_components=1, width=0)


def spec(memory=MEMORY, d_y=1, size=1):
    return KernelSpec(SINGLE, memory, d_y, 0, size, num_members=3)


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


def test_first_weights_are_one_draw():
    """Each draw is a program to compile, and most of what a first run waits for."""
    for d_y in (1, 3):
        groups = spec(d_y=d_y).groups()
        make = eqx.filter_make_jaxpr(lambda key, g=groups, d=d_y: Mixture(bends=2).make(key, d, g, 1))
        assert str(make(jax.random.key(0))[0]).count("random_bits") == 1
