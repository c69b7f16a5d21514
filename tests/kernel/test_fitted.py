from dataclasses import dataclass, replace
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from tsnl.kernel import MAF, Decays, Head, Kernel, KernelSpec, Lags, Memory, Mixture, Region, Scaling
from tsnl.kernel.heads.network import Network
from tsnl.kernel.member import first_of, fresh_members
from tsnl.kernel.memory import Recurrent, along
from tsnl.kernel.stacked import with_networks
from tsnl.store.codec import NotSavableError
from tsnl.store.registry import register

LENGTH = 6


@register
@dataclass(frozen=True)
class Smooth:
    """An exponentially weighted mean whose rate is trained."""

    start: float = 0.5

    def make(self, key, d_y, d_u):
        return SmoothMemory(self.start + jax.random.normal(key), d_y)


class SmoothMemory(Memory):
    logit: Array
    d_y: int = eqx.field(static=True)

    def init(self):
        return jnp.zeros(self.d_y)

    def push(self, state, y, seen, u):
        return state + jax.nn.sigmoid(self.logit) * jnp.where(seen, y - state, 0.0)

    def features(self, state):
        return state


@dataclass(frozen=True)
class Unregistered(Smooth):
    pass


MIXTURE, FLOW = Mixture(num_components=2, width=3, depth=1), MAF(num_layers=1, num_hidden=1, width=4)
BOTH = (Lags(2, fading=0.7), Decays((0.5, 0.9)))
# head, memory, d_y, d_u, size, members; and the transform
TABLE = {
    "mixture": (KernelSpec(MIXTURE, BOTH, 2, 1, 2, 2, gaps=True), "asinh"),
    "flow": (KernelSpec(FLOW, BOTH, 2, 1, 2, 3, integer=(True, True)), "log"),
    "whole": (KernelSpec(FLOW, (), 2 * LENGTH, 0, 2, 2, whole=True), "none"),
    "trained": (KernelSpec(MIXTURE, (Lags(1), Smooth(-0.5)), 1, 1, 2, 2, gaps=True), "none"),
    "trained flow": (KernelSpec(FLOW, (Smooth(),), 2, 0, 1, 2), "asinh"),
    "counts": (KernelSpec(MIXTURE, BOTH, 2, 1, 2, 2, integer=(True, False)), "none"),
    "stack": (
        with_networks(
            KernelSpec(MIXTURE, BOTH, 2, 1, 2, 3, gaps=True), Recurrent(3), Network(2, width=4), 2
        ),
        "asinh",
    ),
}
ALL = pytest.mark.parametrize("name", [name for name in TABLE if name != "counts"])
STREAMS = pytest.mark.parametrize("name", ["mixture", "whole", "trained", "trained flow", "stack"])


@cache
def kernel_of(name):
    """With random weights, so that nothing is at its special start."""
    spec, transform = TABLE[name]
    rng = np.random.default_rng(3)

    def some(*shape, low=-1.0, high=1.0):
        return jnp.asarray(rng.uniform(low, high, size=shape), dtype=float)

    y, z, u = (spec.d_y,), (spec.size,), (spec.d_u,)
    scaling = Scaling(
        some(*y, low=0.5, high=2.0), some(*y), some(*y, low=0.5, high=2.0),
        some(*z), some(*z, low=0.5, high=2.0), (transform,) * spec.d_y,
        some(*u), some(*u, low=0.5, high=2.0), jnp.full(spec.d_y, -jnp.inf),
    )  # fmt: skip
    members, static = eqx.partition(fresh_members(jax.random.key(1), spec), eqx.is_inexact_array)
    members = eqx.combine(jax.tree.map(lambda x: x + 0.1 * some(*x.shape), members), static)
    region = jax.tree.map(lambda x: x + some(*x.shape), Region.unknown(spec.d_y, spec.groups()))
    return Kernel(members, scaling, region, spec)


def series_of(name):
    """Rows in the user's units with gaps, and inputs."""
    spec, _ = TABLE[name]
    rng = np.random.default_rng(5)
    y, u = (rng.normal(size=(LENGTH, d)).astype(np.float32) for d in (spec.d_y, spec.d_u))
    y[1] = np.nan
    y[3, 0] = np.nan
    return y, u


@eqx.filter_jit
def standardised(kernel, rows, inputs):
    seen = ~jnp.isnan(rows)
    y = kernel.scaling.standardise(jnp.where(seen, rows, 0.0))
    return y, seen, kernel.scaling.standardise_u(inputs)


@eqx.filter_jit
def log_probs(kernel, y, seen, u, theta):
    features = kernel.features(y, seen, u)
    return kernel.log_probs(y, features, theta), kernel.member_log_probs(y, features, theta)


def standard_series(name):
    return standardised(kernel_of(name), *(jnp.asarray(x) for x in series_of(name)))


def theta_of(name):
    return jnp.linspace(-0.5, 0.7, TABLE[name][0].size)


@ALL
def test_a_saved_kernel_comes_back_to_the_bit(name, tmp_path):
    kernel = kernel_of(name)
    kernel.save(tmp_path / "kernel.safetensors")
    again = Kernel.load(tmp_path / "kernel.safetensors")
    assert again.spec == kernel.spec
    assert again.scaling.names() == kernel.scaling.names()
    assert eqx.tree_equal(again, kernel)
    values = *standard_series(name), theta_of(name)
    for one, other in zip(log_probs(kernel, *values), log_probs(again, *values), strict=True):
        assert np.isfinite(one).all()
        np.testing.assert_array_equal(one, other)


def test_what_cannot_be_saved_leaves_no_file(tmp_path):
    kernel = kernel_of("trained")
    other = replace(kernel, spec=replace(kernel.spec, memory=(Lags(1), Unregistered())))
    with pytest.raises(NotSavableError, match="Unregistered"):
        other.save(tmp_path / "kernel.safetensors")
    assert not list(tmp_path.iterdir())


@ALL
def test_the_ensemble_averages_what_each_member_says(name):
    kernel, (y, seen, u), theta = kernel_of(name), standard_series(name), theta_of(name)
    found, each = log_probs(kernel, y, seen, u, theta)
    assert found.shape == (LENGTH,)
    shares = np.asarray(kernel.shares, dtype=float)
    assert each.shape == (len(shares), LENGTH)
    np.testing.assert_allclose(shares.sum(), 1, rtol=1e-6)
    expected = np.log(shares @ np.exp(np.asarray(each, float)))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    same, _ = log_probs(kernel, y, seen, u, jnp.tile(theta, (LENGTH, 1)))
    np.testing.assert_allclose(same, found, rtol=1e-5, atol=1e-5)
    if name == "stack":
        return
    arrays, static = eqx.partition(kernel.members, eqx.is_array)
    one = eqx.filter_jit(lambda member: member.head.log_probs(y, member.features(y, seen, u), theta))
    for m in range(kernel.spec.num_members):
        member = eqx.combine(jax.tree.map(lambda x, m=m: x[m], arrays), static)
        np.testing.assert_allclose(each[m], one(member), rtol=1e-4, atol=1e-5)


@STREAMS
def test_row_by_row_is_along_the_series(name):
    kernel, (y, seen, u) = kernel_of(name), standard_series(name)
    expected = eqx.filter_jit(kernel.features)(y, seen, u)
    own = name.startswith("trained")
    count = sum(len(group.mean_sd) for group in kernel.spec.groups())
    assert expected.shape == (kernel.spec.num_members if own else 1, LENGTH, count)
    rows, inputs = series_of(name)
    push, next_features = eqx.filter_jit(kernel.push), eqx.filter_jit(kernel.next_features)
    state = kernel.remember(rows[:0], inputs[:0])
    for t in range(LENGTH):
        found = next_features(state, u[t])
        np.testing.assert_allclose(found, expected[:, t], rtol=1e-5, atol=1e-6)
        state = push(state, jnp.where(seen[t], y[t], jnp.nan), seen[t], u[t])
    whole = kernel.remember(rows, inputs)
    assert jax.tree.structure(whole) == jax.tree.structure(state)
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(state), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_common_features_are_the_memorys_and_the_rows_own_inputs():
    kernel, (y, seen, u) = kernel_of("mixture"), standard_series("mixture")
    found = eqx.filter_jit(kernel.features)(y, seen, u)[0]
    memory = eqx.filter_jit(along)(first_of(kernel.members).memory, y, seen, u)
    np.testing.assert_allclose(found, np.concatenate([memory, u], axis=1), rtol=1e-5, atol=1e-6)


@ALL
def test_samples_are_rows(name):
    kernel, (y, seen, u) = kernel_of(name), standard_series(name)
    features = eqx.filter_jit(kernel.features)(y, seen, u)[:, 2]
    draw = eqx.filter_jit(lambda key: kernel.sample(key, features, theta_of(name)))
    one, other = (draw(jax.random.key(seed)) for seed in range(2))
    assert one.shape == (kernel.spec.d_y,)
    assert np.isfinite(one).all()
    assert (one != other).any()


def test_counts_are_whole_as_soon_as_they_are_drawn():
    kernel, keys = kernel_of("counts"), jax.random.split(jax.random.key(0), 100)
    features = jnp.zeros((1, sum(len(group.mean_sd) for group in kernel.spec.groups())))
    draw = eqx.filter_jit(jax.vmap(lambda key: kernel.sample(key, features, theta_of("counts"))))
    rows = np.asarray(kernel.scaling.restore(draw(keys)), dtype=float)
    np.testing.assert_allclose(rows[:, 0], np.round(rows[:, 0]), atol=1e-5)
    assert len(np.unique(np.round(rows[:, 0]))) > 1
    assert (np.abs(rows[:, 1] - np.round(rows[:, 1])) > 1e-3).any()
    assert kernel_of("mixture").settle is None


class Echo(Head):
    """Gives back the first feature, times a factor of the member's own."""

    factor: Array

    def log_prob(self, y, features, theta):
        raise NotImplementedError

    def sample(self, key, features, theta):
        return self.factor * features[:1]


def test_a_sample_is_of_one_member_and_its_own_features():
    kernel = kernel_of("trained")
    kernel = eqx.tree_at(lambda k: k.members.head, kernel, Echo(jnp.array([1.0, 10.0])))
    keys = jax.random.split(jax.random.key(0), 64)
    draw = eqx.filter_jit(lambda c: jax.vmap(lambda key: kernel.sample(key, c, jnp.zeros(2)))(keys))
    assert set(np.asarray(draw(jnp.array([[2.0], [3.0]]))).ravel().tolist()) == {2.0, 30.0}
    assert set(np.asarray(draw(jnp.array([[2.0]]))).ravel().tolist()) == {2.0, 20.0}
