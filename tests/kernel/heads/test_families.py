from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import paramax
import pytest

from tsnl.kernel import MAF, Decays, KernelSpec, Lags, Mixture, Spline
from tsnl.kernel.heads.base import num_weights
from tsnl.kernel.heads.flows import autoregressive
from tsnl.kernel.heads.network import Network
from tsnl.kernel.heads.stack import Stack

# One table drives every invariant.
TABLE = {
    "MAF tanh": MAF(num_layers=2, num_hidden=2, width=16),
    "MAF relu": MAF(num_layers=2, num_hidden=2, width=16, activation="relu"),
    "Spline": Spline(num_layers=2, num_hidden=2, width=16),
    "Mixture": Mixture(),
    "Mixture without a network": Mixture(width=0),
    "Network": Network(num_components=3, width=8),
    "Stack": Stack(Mixture(width=4), Network(num_components=3, width=8), (2, 1), (4, 1)),
}
ALL = pytest.mark.parametrize("name", TABLE)
FLOWS = pytest.mark.parametrize("name", ["MAF tanh", "MAF relu", "Spline"])
MEMORY, LAG, SIZE, NUM_DRAWS = (Lags(2), Decays((0.5, 0.9))), 2, 2, 20_000


@cache
def groups(d_y):
    """Of lags, marks, inputs of the lags, averages, and the inputs of the row itself: one column."""
    return KernelSpec(Mixture(), MEMORY, d_y, 1, SIZE, 2).groups()


@cache
def fresh(name, d_y):
    return TABLE[name].make(jax.random.key(0), d_y, groups(d_y), SIZE)


def perturbed(head, scale=0.2):
    """Noise on every weight, so that nothing is at its special start."""
    rng = np.random.default_rng(4)
    arrays, static = eqx.partition(head, eqx.is_inexact_array)
    noisy = jax.tree.map(lambda x: jnp.asarray(x + scale * rng.normal(size=x.shape), x.dtype), arrays)
    return eqx.combine(noisy, static)


@cache
def setting(name, d_y):
    """A head with random weights, features of a past and a theta."""
    head = perturbed(fresh(name, d_y))
    rng = np.random.default_rng(0)
    parts = (
        rng.normal(size=LAG * d_y),
        np.array([0.0] * d_y + [1.0] * d_y),
        rng.normal(size=LAG),
        rng.normal(size=4 * d_y),
        rng.normal(size=1),
    )
    return head, jnp.asarray(np.concatenate(parts), dtype=float), jnp.array([0.5, -1.0])


@cache
def log_q(name, d_y):
    head, features, theta = setting(name, d_y)
    return jax.jit(jax.vmap(lambda y: head.log_prob(y, features, theta)))


@cache
def draws(name, d_y):
    head, features, theta = setting(name, d_y)
    keys = jax.random.split(jax.random.key(0), NUM_DRAWS)
    return np.asarray(jax.jit(jax.vmap(lambda k: head.sample(k, features, theta)))(keys), dtype=float)


@cache
def quadrature(name, d_y, num):
    """A grid around all draws, and the density on it."""
    y = draws(name, d_y)
    half = 0.75 * np.ptp(y, axis=0)
    axes = [np.linspace(c - h, c + h, num) for c, h in zip(y.mean(0), half, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    values = log_q(name, d_y)(jnp.asarray(points.reshape(-1, d_y), dtype=float))
    return axes, np.asarray(values, dtype=float).reshape(points.shape[:-1])


@pytest.mark.parametrize("name", ["Mixture", "Spline", "Network", "Stack"])
def test_one_theta_for_all_rows_is_the_same_theta_for_each(name):
    head, features, theta = setting(name, 2)
    y = jnp.asarray(np.random.default_rng(1).normal(size=(3, 2)), dtype=float)
    many = jnp.stack([features, 0.5 * features, -features])
    log_probs = eqx.filter_jit(lambda theta: head.log_probs(y, many, theta))
    each = log_probs(jnp.tile(theta, (3, 1)))
    np.testing.assert_allclose(log_probs(theta), each, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(each[0], log_q(name, 2)(y)[0], rtol=1e-5, atol=1e-5)


@ALL
def test_integrates_to_one(name):
    (grid,), values = quadrature(name, 1, 4001)
    np.testing.assert_allclose(np.trapezoid(np.exp(values), grid), 1, atol=2e-4)


@ALL
def test_integrates_to_one_in_two_dimensions(name):
    axes, values = quadrature(name, 2, 301)
    inner = np.trapezoid(np.exp(values), axes[1], axis=1)
    np.testing.assert_allclose(np.trapezoid(inner, axes[0]), 1, atol=1e-3)


@ALL
def test_samples_follow_the_density(name):
    (grid,), values = quadrature(name, 1, 4001)
    y, density = draws(name, 1)[:, 0], np.exp(values)
    found = np.stack([np.asarray(log_q(name, 1)(jnp.asarray(y[:, None], dtype=float))), y, y**2], axis=1)
    exact = [np.trapezoid(density * f, grid) for f in (values, grid, grid**2)]
    assert (abs(found.mean(0) - exact) < 4.5 * found.std(0) / np.sqrt(NUM_DRAWS)).all()


@ALL
def test_samples_follow_the_density_in_two_dimensions(name):
    axes, values = quadrature(name, 2, 301)
    y, density = draws(name, 2), np.exp(values)
    a, b = np.meshgrid(*axes, indexing="ij")
    found = np.stack([y[:, 0], y[:, 1], y[:, 0] * y[:, 1]], axis=1)
    exact = [np.trapezoid(np.trapezoid(density * f, axes[1], axis=1), axes[0]) for f in (a, b, a * b)]
    slack = 1e-3 * found.std(0)
    assert (abs(found.mean(0) - exact) < 4.5 * found.std(0) / np.sqrt(NUM_DRAWS) + slack).all()


@FLOWS
def test_the_map_of_one_layer_is_triangular(name):
    """Flows permute after each layer: sorted by what they depend on, the rows are triangular."""
    head, features, theta = setting(name, 2)
    arrays, static = eqx.partition(head.flow.bijection.bijection.bijection, eqx.is_array)
    layer = paramax.unwrap(eqx.combine(jax.tree.map(lambda x: x[0], arrays), static))
    jacobian = jax.jit(jax.jacobian(layer.transform))
    y, inputs = jnp.array([0.3, -0.7]), jnp.concatenate([features, theta])
    found = np.asarray(jacobian(y, inputs))
    order = np.argsort((found != 0).sum(1))
    assert ((found[order] != 0) == [[True, False], [True, True]]).all()
    moved = np.asarray(jacobian(y, inputs + 0.5))[order]
    assert moved[0, 1] == 0
    assert moved[0, 0] != found[order][0, 0]  # the first depends on the features


@FLOWS
def test_log_density_is_that_of_the_map(name):
    """log q = log N(u | base) + log |du / dy|, by autodiff through all layers."""
    head, features, theta = setting(name, 2)

    @jax.jit
    def both(y):
        flow, inputs = paramax.unwrap(head.flow), jnp.concatenate([features, theta])
        u = flow.bijection.inverse(y, inputs)
        jacobian = jax.jacobian(lambda v: flow.bijection.inverse(v, inputs))(y)
        expected = flow.base_dist.log_prob(u) + jnp.linalg.slogdet(jacobian)[1]
        return head.log_prob(y, features, theta), expected

    np.testing.assert_allclose(*both(jnp.array([0.3, -0.7])), rtol=1e-4)


@pytest.mark.parametrize("name", ["Mixture", "Mixture without a network", "Network", "Stack"])
def test_a_mixtures_first_marginal_is_its_first_part(name):
    head, features, theta = setting(name, 2)
    axes, values = quadrature(name, 2, 301)
    marginal = np.trapezoid(np.exp(values), axes[1], axis=1)
    y = jnp.asarray(np.stack([axes[0], 0 * axes[0]], axis=1), dtype=float)
    first = jax.jit(jax.vmap(lambda v: head.conditionals(v, features, theta)[0][0]))
    expected = np.exp(first(y))
    np.testing.assert_allclose(marginal, expected, atol=1e-3 * expected.max())


@ALL
def test_gradients_are_finite_far_outside(name):
    head, features, theta = setting(name, 2)
    gradient = jax.jit(jax.value_and_grad(lambda a: head.log_prob(*a)))
    for far in (1e3, -1e3):
        for args in (
            (jnp.full(2, far), features, theta),
            (jnp.zeros(2), features.at[: LAG * 2].set(far), theta),
            (jnp.zeros(2), features, 0 * theta + far / 20),
            (jnp.full(2, far), 0 * features - far, 0 * theta + far / 20),
        ):
            assert all(jnp.isfinite(x).all() for x in jax.tree.leaves(gradient(args)))


@ALL
def test_a_fresh_head_is_finite(name):
    _, features, theta = setting(name, 1)

    head = fresh(name, 1)

    @jax.jit
    def values(key):
        y = head.sample(key, features, theta)
        return y, head.log_prob(y, features, theta), head.penalty()

    assert all(jnp.isfinite(x).all() for x in values(jax.random.key(0)))


def test_num_weights_of_a_mixture():
    head = setting("Mixture", 1)[0]
    total = sum(x.size for x in jax.tree.leaves(eqx.filter(head, eqx.is_inexact_array)))
    assert num_weights(head, 1, groups(1), SIZE) == total


def test_a_stack_is_the_weighted_sum_of_its_heads():
    head, features, theta = setting("Stack", 2)
    log_weights = jnp.log(jnp.array([0.2, 0.8]))
    head = eqx.tree_at(lambda h: h.log_weights, head, log_weights)
    y = jnp.asarray(np.random.default_rng(2).normal(size=(5, 2)), dtype=float)
    many = jnp.broadcast_to(features, (5, len(features)))
    call = eqx.filter_jit(lambda h: (h.each_log_prob(y, many, theta), h.log_probs(y, many, theta)))
    each, found = (np.asarray(x, dtype=float) for x in call(head))
    assert each.shape == (3, 5)
    np.testing.assert_allclose(np.exp(head.log_shares), [0.1, 0.1, 0.8], rtol=1e-5)
    np.testing.assert_allclose(np.exp(found), [0.1, 0.1, 0.8] @ np.exp(each), rtol=1e-4)


@pytest.mark.parametrize("name", ["first", "second"])
def test_draws_of_a_stack_come_from_the_heads_that_have_weight(name):
    head, features, theta = setting("Stack", 1)
    weights = jnp.where(jnp.array([name == "first", name == "second"]), 0.0, -jnp.inf)
    head = eqx.tree_at(lambda h: h.log_weights, head, weights)
    draw = eqx.filter_jit(lambda h: h.samples(jax.random.key(0), jnp.tile(features, (9, 1)), theta))
    for part in ("first", "second"):
        other = eqx.tree_at(lambda h, part=part: getattr(h, part), head, perturbed(getattr(head, part)))
        assert np.array_equal(draw(other), draw(head)) == (part != name)


def test_num_weights_leaves_masked_ones_out():
    inputs = 2 * LAG + 4 + LAG + 1 + SIZE  # one column of known inputs
    head = setting("MAF tanh", 1)[0]
    total = sum(x.size for x in jax.tree.leaves(eqx.filter(head, eqx.is_inexact_array)))
    found = num_weights(head, 1, groups(1), SIZE)
    # two layers of three matrices with biases; y itself is masked for scalar y
    seen = 2 * (16 * (inputs + 1) + 16 * (16 + 1) + 2 * (16 + 1))
    assert found < total
    assert found - seen in (0, 1, 2)  # the base's mean and scale, where they are trained


@pytest.mark.parametrize("lag", [1, 10])
def test_published_size(lag):
    """First layers with biases and hidden-to-hidden weights, as the paper counts them."""
    flow = eqx.filter_eval_shape(autoregressive, jax.random.key(0), MAF(), 1, inputs=lag + 1)
    leaves = [x for x in jax.tree.leaves(flow) if getattr(x, "dtype", None) == jnp.float32]
    first = [x for x in leaves if x.shape[-2:] == (32, lag + 2)]
    hidden = [x for x in leaves if x.shape[-2:] == (32, 32)]
    biases = first[0].size // (lag + 2)
    assert sum(x.size for x in first + hidden) + biases == 160 * lag + 20_960


@pytest.mark.parametrize("family", [MAF, Spline])
@pytest.mark.usefixtures("unchecked")
def test_bad_options(family):
    with pytest.raises(ValueError, match="activation is 'sin', expected one of"):
        family(activation="sin")
    with pytest.raises(ValueError, match="expected at least 1"):
        family(width=0)
