from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from jaxtyping import Array

from tsnl.kernel.memory import Beside, Decays, Lags, Memory, MemoryFamily, after, along
from tsnl.kernel.memory.base import USUAL

LENGTH, D_Y = 7, 2


@dataclass(frozen=True)
class Average:
    """An exponentially weighted average whose rate is trained, and the weight behind it."""

    def make(self, key, d_y, d_u):
        return AverageMemory(jnp.asarray(0.8), d_y)


class AverageMemory(Memory):
    logit: Array
    d_y: int = eqx.field(static=True)

    def init(self):
        return jnp.zeros((2, self.d_y))

    def push(self, state, y, seen, u):
        rate = jax.nn.sigmoid(self.logit)
        return rate * state + (1 - rate) * jnp.stack([y, 1.0 * seen])

    def features(self, state):
        return jnp.concatenate([state[0] / (state[1] + 1 - jax.nn.sigmoid(self.logit)), state[1]])


def made(d_u, *families):
    return d_u, tuple(one.make(jax.random.key(0), D_Y, d_u) for one in families)


# One table drives every invariant: inputs, and what is kept.
TABLE = {
    "lags": made(2, Lags(3)),
    "lags without inputs": made(0, Lags(2)),
    "no lag": made(1, Lags(0)),
    "decays": made(1, Decays((0.5, 0.9))),
    "no decay": made(0, Decays(())),
    "both": made(1, Lags(2), Decays((0.8,))),
    "a rate that is trained": made(0, Average()),
    "all": made(1, Decays((0.5,)), Average(), Lags(1)),
    "nothing": made(1),
}
BLIND = ("no lag", "no decay", "nothing")
ALL = pytest.mark.parametrize("name", TABLE)
SEES = pytest.mark.parametrize("name", [name for name in TABLE if name not in BLIND])

along = eqx.filter_jit(along)
after = eqx.filter_jit(after)
push = eqx.filter_jit(lambda memory, *a: memory.push(*a))
features = eqx.filter_jit(lambda memory, state: memory.features(state))


def memory_of(name):
    _, parts = TABLE[name]
    return parts[0] if len(parts) == 1 else Beside(parts)


def series_of(name, seed, share_missing=0.3):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=(LENGTH, D_Y)).astype(np.float32)
    u = rng.normal(size=(LENGTH, TABLE[name][0])).astype(np.float32)
    return y, rng.uniform(size=y.shape) >= share_missing, u


def every(memory, y, seen, u):
    """By push after push: the features before each row, and the state at the end."""
    state, found = memory.init(), []
    for row, there, inputs in zip(np.where(seen, y, 0), seen, u, strict=True):
        found.append(features(memory, state))
        state = push(memory, state, *(jnp.asarray(x) for x in (row, there, inputs)))
    return np.stack(found), state


def as_jax(*values):
    return tuple(jnp.asarray(x) for x in values)


@ALL
@settings(max_examples=8)
@given(data=st.data())
def test_along_a_series_is_push_after_push(name, data):
    size = st.floats(-10, 10, width=32)
    y = data.draw(arrays(np.float32, (LENGTH, D_Y), elements=size))
    seen = data.draw(arrays(bool, (LENGTH, D_Y)))
    u = data.draw(arrays(np.float32, (LENGTH, TABLE[name][0]), elements=size))
    memory = memory_of(name)
    expected, state = every(memory, y, seen, u)
    np.testing.assert_allclose(along(memory, *as_jax(y, seen, u)), expected, rtol=1e-5, atol=1e-6)
    found = after(memory, *as_jax(y, seen, u))
    assert jax.tree.structure(found) == jax.tree.structure(state)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(state), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert np.isfinite(expected).all()


@ALL
def test_values_that_were_not_seen_do_not_matter(name):
    y, seen, u = series_of(name, 4, share_missing=0.5)
    memory = memory_of(name)
    for look in (along, after):
        one, other = (look(memory, *as_jax(np.where(seen, y, x), seen, u)) for x in (np.nan, 7.0))
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
            np.testing.assert_array_equal(a, b)


@SEES
@settings(max_examples=10)
@given(t=st.integers(0, LENGTH - 1), j=st.integers(0, D_Y - 1), value=st.floats(-1e3, 1e3, width=32))
def test_features_know_only_the_past(name, t, j, value):
    y, seen, u = series_of(name, 2)
    changed, also, inputs = y.copy(), seen.copy(), u.copy()
    changed[t, j], also[t, j], inputs[t] = value, ~seen[t, j], value
    memory = memory_of(name)
    one, other = along(memory, *as_jax(y, seen, u)), along(memory, *as_jax(changed, also, inputs))
    np.testing.assert_array_equal(one[: t + 1], other[: t + 1])
    assert t == LENGTH - 1 or not np.array_equal(one[t + 1], other[t + 1])


@ALL
def test_a_prefix_has_the_same_features(name):
    values = as_jax(*series_of(name, 3))
    whole, short = (along(memory_of(name), *(x[:k] for x in values)) for k in (LENGTH, 5))
    np.testing.assert_allclose(whole[:5], short, atol=1e-6)


@ALL
def test_the_groups_add_up_to_the_features(name):
    memory = memory_of(name)
    count = features(memory, memory.init()).shape[0]
    groups = memory.groups()
    assert sum(len(group.mean_sd) for group in groups) == count
    assert all(len(group.mean_sd) == len(group.scale_sd) > 0 for group in groups)
    assert all(sd > 0 for group in groups for sd in group.mean_sd + group.scale_sd)
    assert (count == 0) == (name in BLIND)


def test_a_memory_that_says_nothing_of_its_features_has_one_group():
    (group,) = memory_of("a rate that is trained").groups()
    assert group == ((USUAL[0],) * 4, (USUAL[1],) * 4, True, ())


def test_marks_are_marked():
    memory = memory_of("all")
    marks = np.concatenate([[not group.located] * len(group.mean_sd) for group in memory.groups()])
    nothing, y = features(memory, memory.init()), jnp.full(D_Y, 5.0)
    seen = features(memory, push(memory, memory.init(), y, jnp.ones(D_Y, bool), jnp.ones(1)))
    np.testing.assert_array_equal(marks, (np.asarray(nothing) == 1) & (np.asarray(seen) == 0))


def test_gradients_reach_the_weights_of_every_part():
    values = as_jax(*series_of("all", 0))
    slope = eqx.filter_jit(eqx.filter_grad(lambda memory: along(memory, *values).sum()))
    (found,) = jax.tree.leaves(slope(memory_of("all")))
    assert np.isfinite(found)
    assert found != 0


@pytest.mark.parametrize("family", [Lags(), Decays(), Average()], ids=lambda f: type(f).__name__)
def test_families_keep_to_the_protocol(family):
    assert isinstance(family, MemoryFamily)
    assert isinstance(family.make(jax.random.key(0), 1, 0), Memory)
