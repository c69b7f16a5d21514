from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from tsnl.kernel import MAF, Decays, KernelSpec, Lags, Memory, Mixture, Spline, fit_scaling, learn
from tsnl.kernel.examples import Examples, Simulated
from tsnl.kernel.training import Training

TABLE = {
    "MAF": MAF(num_layers=2, num_hidden=1, width=4),
    "MAF relu": MAF(num_layers=2, num_hidden=1, width=4, activation="relu"),
    "Spline": Spline(num_layers=2, num_hidden=1, width=4),
    "Mixture": Mixture(),
    "Mixture without a network": Mixture(width=0),
}
MEMORY = (Lags(2), Decays((0.5, 0.9)))
SIZE = 2


@dataclass(frozen=True)
class Mean:
    def make(self, key, d_y, d_u):
        return MeanMemory(jax.random.normal(key), d_y)


class MeanMemory(Memory):
    logit: Array
    d_y: int = eqx.field(static=True)

    def init(self):
        return jnp.zeros(self.d_y)

    def push(self, state, y, seen, u):
        return state + jax.nn.sigmoid(self.logit) * jnp.where(seen, y - state, 0.0)

    def features(self, state):
        return state


def started(head, seed, memory=MEMORY):
    """Members before they are trained, and the examples for them."""
    rng = np.random.default_rng(0)
    y = jnp.asarray(rng.normal(size=(3, 6, 1)), dtype=float)
    theta = jnp.asarray(rng.normal(size=(3, SIZE)), dtype=float)
    examples = Examples(y, jnp.ones(y.shape, bool), y, theta)
    spec = KernelSpec(head, memory, 1, 1, SIZE, num_members=2)
    return learn._start(jax.random.key(seed), spec, examples, np.ones((2, 3, 6), bool), 1.0)


def weights_of(members):
    return jax.tree.leaves(eqx.filter(members, eqx.is_inexact_array))


def test_an_ensemble_starts_at_different_members():
    weights = weights_of(started(Mixture(), 0)[0])
    assert all(x.shape[0] == 2 for x in weights)
    assert any((x[0] != x[1]).any() for x in weights)


@pytest.mark.parametrize("name", TABLE)
def test_ensembles_of_one_shape_share_their_programs(name):
    one, other = (started(TABLE[name], seed)[0] for seed in range(2))
    frames = [jax.tree.flatten(eqx.filter(x, eqx.is_array, inverse=True)) for x in (one, other)]
    assert frames[0] == frames[1]
    pairs = zip(weights_of(one), weights_of(other), strict=True)
    assert name == "Mixture without a network" or any((a != b).any() for a, b in pairs)


@pytest.mark.parametrize("name", ["MAF", "Mixture without a network"])
def test_features_are_common_where_memories_have_no_weights(name):
    members, examples = started(TABLE[name], 0)
    assert examples.features.shape == (3, 6, 2 * 2 + 2 + 4 + 1)
    members, examples = started(TABLE[name], 0, (Lags(1), Mean()))
    assert examples.features is None
    logits = members.memory.parts[1].logit
    assert logits.shape == (2,)
    assert logits[0] != logits[1]


TRAINING = Training(
    num_members=2, min_steps=10, max_steps=10, batch_size=32, check_every=5, held_out=0.3
)


def learned(memory, gaps=False):
    rng = np.random.default_rng(0)
    simulated = Simulated(
        rng.normal(size=(8, 10, 1)) + 3, rng.normal(size=(8, 10, 1)), rng.normal(size=(8, SIZE))
    )
    simulated.series[5, 4:] = np.nan  # a simulation that failed
    spec = KernelSpec(Mixture(width=0), memory, 1, 1, SIZE, num_members=2, gaps=gaps)
    scaling = fit_scaling(simulated.series, simulated.z, "none", simulated.inputs)
    chosen, patterns = np.arange(8) != 7, [np.ones((10, 1), bool)]
    return learn.learn(jax.random.key(0), rng, spec, scaling, simulated, chosen, patterns, TRAINING)


@pytest.mark.parametrize(
    ("memory", "m"), [((Lags(1),), 1), ((Lags(1), Mean()), 2)], ids=["without", "with"]
)
def test_a_kernel_from_simulated_series(memory, m):
    kernel, fit = learned(memory, gaps=True)
    assert np.isfinite(fit.held_out_loss)
    assert fit.num_steps == 10
    assert all(np.isfinite(x).all() for x in weights_of(kernel))
    y = jnp.zeros((4, 1))
    features = eqx.filter_jit(kernel.features)(y, jnp.ones((4, 1), bool), y)
    assert features.shape[:2] == (m, 4)
    count = len(kernel.region.centre)
    assert count == 1 + features.shape[2] - 1  # y, and all features but the mark
    assert kernel.spec.gaps
