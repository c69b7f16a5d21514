from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from tsnl.kernel import Decays, KernelSpec, Lags, Memory, Mixture
from tsnl.kernel.member import _prototype, first_of, fresh_members, has_weights

HEAD = Mixture(num_components=1, width=0)


@dataclass(frozen=True)
class Net:
    """A recurrent net, as a user may write one: its weights say how large its state is."""

    def make(self, key, d_y, d_u):
        return NetMemory(jax.random.normal(key, (3, d_y)), jnp.full(3, 0.5))


class NetMemory(Memory):
    inward: Array
    outward: Array

    def init(self):
        return jnp.zeros(self.inward.shape[0])

    def push(self, state, y, seen, u):
        return jnp.tanh(0.5 * state + self.inward @ y)

    def features(self, state):
        return self.outward * state


MEMORIES = {
    "nothing": ((), 0),
    "lags": ((Lags(2),), 2 * (2 * 2 + 1)),
    "both": ((Lags(1), Decays((0.5, 0.9))), 2 * 2 + 1 + 2 * 2 * 2),
    "net": ((Net(),), 3),
    "net and lags": ((Net(), Lags(1)), 3 + 2 * 2 + 1),
}


@pytest.mark.parametrize("name", MEMORIES)
def test_the_groups_add_up_to_what_a_head_sees(name):
    memory, count = MEMORIES[name]
    spec = KernelSpec(HEAD, memory, 2, 1, 1, num_members=2)
    member = first_of(fresh_members(jax.random.key(0), spec))
    groups = spec.groups()
    assert sum(len(group.mean_sd) for group in groups) == count + 1  # the row's own input
    assert groups == member.groups()
    y, u = jnp.ones((3, 2)), jnp.ones((3, 1))
    features = member.features(y, jnp.ones((3, 2), bool), u)
    assert features.shape == (3, count + 1)
    np.testing.assert_array_equal(features[:, -1:], u)


@pytest.mark.parametrize("name", MEMORIES)
def test_members_are_stacked(name):
    memory, _ = MEMORIES[name]
    members = fresh_members(jax.random.key(0), KernelSpec(HEAD, memory, 2, 1, 1, num_members=3))
    assert has_weights(members.memory) == ("net" in name)
    assert all(x.shape[0] == 3 for x in jax.tree.leaves(members))
    if has_weights(members.memory):
        inward = members.memory.parts[0].inward
        assert (inward[0] != inward[1]).any()


@pytest.mark.parametrize(
    ("memory", "lag"), [((), 0), ((Decays(),), 0), ((Lags(2), Decays(), Lags(5)), 5)]
)
def test_the_lag_is_the_longest(memory, lag):
    assert KernelSpec(HEAD, memory, 1, 0, 1, 1).lag == lag


def test_a_series_as_rows_or_as_one_row():
    series = np.arange(24.0).reshape(2, 4, 3)
    rows, whole = (KernelSpec(HEAD, (), d, 0, 1, 1, whole=w) for d, w in ((3, False), (12, True)))
    np.testing.assert_array_equal(rows.rows(series), series)
    np.testing.assert_array_equal(whole.rows(series), series.reshape(2, 1, 12))
    np.testing.assert_array_equal(whole.rows(series[0]), series[0].reshape(1, 12))


def test_the_frame_of_a_kernel_draws_nothing(monkeypatch):
    """Its weights would be compiled, drawn and thrown away, in every first run."""
    keys, normal = [], jax.random.normal
    monkeypatch.setattr(jax.random, "normal", lambda key, *args: keys.append(key) or normal(key, *args))
    _prototype.__wrapped__(KernelSpec(Mixture(), (Lags(3),), 1, 0, 2, 2))
    assert keys
    assert all(isinstance(key, jax.core.Tracer) for key in keys)
