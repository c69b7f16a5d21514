"""Mixtures and networks as one kernel: what is joined comes apart again, and weights are the best."""

import warnings
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from tsnl.kernel import Decays, KernelSpec, Lags, Mixture, fit_scaling, stacking
from tsnl.kernel.examples import Simulated
from tsnl.kernel.heads.network import Network
from tsnl.kernel.held_out import held_out_rows, held_out_series
from tsnl.kernel.learn import learn
from tsnl.kernel.memory import Recurrent
from tsnl.kernel.stacked import parts_of, stacked, unstacked, with_networks
from tsnl.kernel.training import Training

N, LENGTH = 24, 10
TRAINING = Training(num_members=3, min_steps=20, max_steps=20, batch_size=32, check_every=10)
ALONE = KernelSpec(Mixture(2, width=3, depth=1), (Lags(1), Decays((0.5,))), 1, 1, 2, 3)
SPEC = with_networks(ALONE, Recurrent(3), Network(2, width=4), 2)
CHOSEN, PATTERNS = np.arange(N) != 7, [np.ones((LENGTH, 1), bool)]


def simulated():
    rng = np.random.default_rng(0)
    z, noise = rng.normal(size=(N, 2)), rng.normal(size=(N, LENGTH, 1))
    series = z[:, :1, None] + np.cumsum(noise, axis=1)
    return Simulated(series, rng.normal(size=(N, LENGTH, 1)), z)


def given_to_learn():
    made = simulated()
    scaling = fit_scaling(made.series, made.z, "none", made.inputs)
    return scaling, made, CHOSEN, PATTERNS, TRAINING


@pytest.fixture(scope="module")
def learned():
    return stacking.learn_stacked(jax.random.key(0), np.random.default_rng(0), SPEC, *given_to_learn())


def test_a_spec_comes_apart():
    first, second = parts_of(SPEC)
    assert first == ALONE
    assert second == replace(
        ALONE, head=Network(2, width=4), memory=(*ALONE.memory, Recurrent(3)), num_members=2
    )
    assert parts_of(ALONE) == (ALONE,)
    assert with_networks(first, Recurrent(3), second.head, 2) == SPEC


def test_a_kernel_comes_apart_and_together_again(learned):
    kernel, _ = learned
    parts, specs = unstacked(kernel), parts_of(kernel.spec)
    kernels = [
        replace(kernel, members=part.members, spec=spec) for part, spec in zip(parts, specs, strict=True)
    ]
    log_weights = np.array([part.log_weight for part in parts])
    again = stacked(kernel.spec, *kernels, log_weights)
    assert eqx.tree_equal(again, kernel)
    y, u = jnp.ones((4, 1)), jnp.zeros((4, 1))

    @eqx.filter_jit
    def log_probs(one):
        features = one.features(y, jnp.ones(y.shape, bool), u)
        return one.log_probs(y, features, jnp.zeros(2))

    found, *each = (np.asarray(log_probs(one), dtype=float) for one in (kernel, *kernels))
    np.testing.assert_allclose(np.exp(found), np.exp(log_weights) @ np.exp(each), rtol=1e-4)


def test_figures_of_a_stack(learned):
    kernel, fit = learned
    alone = learn(jax.random.key(0), np.random.default_rng(0), ALONE, *given_to_learn())
    np.testing.assert_allclose(fit.weights, np.exp(kernel.members.head.log_weights[0]), rtol=1e-5)
    assert sum(fit.weights) == pytest.approx(1)
    # the first alone is a stack too, but for the least weight of the other
    assert fit.held_out_loss <= alone[1].held_out_loss + 2 * stacking.LEAST
    assert fit.num_steps > alone[1].num_steps
    assert eqx.tree_equal(unstacked(kernel)[0].members, alone[0].members)
    assert eqx.tree_equal(
        kernel.region, alone[0].region
    )  # units of a network do not tell where rows lie


def test_only_members_that_have_not_seen_a_series_speak_of_it(learned):
    kernel, _ = learned
    made = simulated()
    held = held_out_series(np.random.default_rng(0), [SPEC], made, CHOSEN, TRAINING.held_out)
    assert len(held.series) == 2 * 2  # a tenth of 23 for each of two networks
    assert 7 not in held.series
    assert set(held.member.tolist()) == {0, 1}
    rows = held_out_rows(jax.random.key(1), kernel, made, held)
    assert rows.shape == (4, LENGTH)
    for member, same in ((0, False), (2, True)):  # the third has no partner among the networks
        heads = kernel.members.head.first
        moved = jax.tree.map(
            lambda x, m=member: x.at[:, m].multiply(1.5) if eqx.is_array(x) else x, heads
        )
        other = eqx.tree_at(lambda k: k.members.head.first, kernel, moved)
        again = held_out_rows(jax.random.key(1), other, made, held)
        assert np.array_equal(again, rows) == same


@settings(max_examples=15)
@given(seed=st.integers(0, 999), lead=st.floats(-3, 3))
def test_weights_have_the_largest_log_score(seed, lead):
    log_q = np.random.default_rng(seed).normal(size=(2, 200))
    log_q[1] += lead

    def score(w):
        return np.logaddexp(np.log1p(-w) + log_q[0], np.log(w) + log_q[1]).mean()

    best = minimize_scalar(lambda w: -score(w), bounds=(1e-3, 1 - 1e-3), method="bounded").x
    found = np.exp(stacking.stacking_weights(log_q))
    assert found.sum() == pytest.approx(1)
    assert score(found[1]) >= score(best) - 1e-4


def test_rows_that_nothing_explains_do_not_count():
    log_q = np.random.default_rng(0).normal(size=(2, 50))
    some = np.concatenate([log_q, np.full((2, 3), -np.inf)], axis=1)
    np.testing.assert_allclose(stacking.stacking_weights(some), stacking.stacking_weights(log_q))
    np.testing.assert_allclose(stacking.stacking_weights(some[:, 50:]), np.log([0.5, 0.5]))


def test_networks_that_diverge_are_left_out(monkeypatch):
    real = stacking.learn

    def diverge(key, rng, spec, *more):
        if isinstance(spec.head, Network):
            raise FloatingPointError("Training diverged.")
        return real(key, rng, spec, *more)

    monkeypatch.setattr(stacking, "learn", diverge)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        kernel, fit = stacking.learn_stacked(
            jax.random.key(0), np.random.default_rng(0), SPEC, *given_to_learn()
        )
    assert kernel.spec == ALONE
    assert fit.weights == ()
    assert [str(one.message) for one in said] == ["Training diverged. The networks are left out."]
