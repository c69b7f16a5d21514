from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tsnl.checks import one_step as module
from tsnl.checks import one_step_of, predictive_draws
from tsnl.checks.one_step import _exact, one_step
from tsnl.kernel import Head, Kernel, KernelSpec, Lags, Mixture, Region, Scaling
from tsnl.kernel.member import fresh_members
from tsnl.likelihood.surrogate import SurrogateLikelihood
from tsnl.problem.draws import thinned


class Bare(Head):
    """A family without conditionals."""

    inner: Head

    def log_prob(self, y, features, theta):
        return self.inner.log_prob(y, features, theta)

    def sample(self, key, features, theta):
        return self.inner.sample(key, features, theta)


def bare(likelihood):
    return eqx.tree_at(lambda x: x.kernel.members.head, likelihood, Bare(likelihood.kernel.members.head))


def counting(likelihood):
    """The same kernel, as one of counts."""
    kernel, head = likelihood.kernel, likelihood.kernel.members.head
    members = replace(kernel.members, head=replace(head, integer=(True,)))
    changed = replace(kernel, members=members, spec=replace(kernel.spec, integer=(True,)))
    return replace(likelihood, kernel=changed, y=changed.targets(kernel.restore(likelihood.y)))


def ask(result, likelihood, seed=0, series=None):
    z = thinned(result.unconstrained(), 20)
    series = result.problem.series if series is None else series
    return one_step(jax.random.key(seed), likelihood, series, z)


def test_the_draws_are_those_of_the_sampler(result):
    z = result.unconstrained()
    np.testing.assert_allclose(z[..., 0], np.log(result.draws["Q"]), rtol=1e-4, atol=1e-5)
    assert thinned(z, 50).shape == (50, 1)
    assert len(thinned(z, 10**6)) == z.shape[0] * z.shape[1]


def test_exact_and_simulated_values_agree(result):
    exact = ask(result, result.posterior.likelihood)
    simulated = ask(result, bare(result.posterior.likelihood))
    assert exact.pit.shape == result.problem.series.shape
    assert np.abs(exact.pit - simulated.pit).max() < 0.07
    assert np.abs(exact.tail - simulated.tail).max() < 0.14
    np.testing.assert_allclose(exact.log_score, simulated.log_score, atol=1e-4)


def test_values_of_the_conditional_distribution():
    """Integrate the joint density over the second component, the first one fixed."""
    t, n = 3, 1001
    rng = np.random.default_rng(0)
    spec = KernelSpec(Mixture(2, 4, 1), (Lags(1),), d_y=2, d_u=0, size=1, num_members=2)
    members = jax.tree.map(
        lambda x: jnp.asarray(np.asarray(x) + rng.normal(0.0, 0.3, x.shape).astype(x.dtype)),
        eqx.filter_jit(fresh_members)(jax.random.key(0), spec),
    )
    zero, one = jnp.zeros(2), jnp.ones(2)
    scaling = Scaling(one, zero, one, zero[:1], one[:1], "none")
    kernel = Kernel(members, scaling, Region.unknown(2, spec.groups()), spec)
    series = rng.normal(size=(6, 2)).astype(np.float32)
    likelihood = SurrogateLikelihood.of(kernel, jnp.asarray(series))
    z = np.array([[-0.5], [0.3], [1.0]], np.float32)
    features = likelihood.features[:, t : t + 1]
    wide = jnp.broadcast_to(features, (1, n, features.shape[2]))
    grid = np.linspace(-15, 15, n, dtype=np.float32)
    rows = jnp.stack([jnp.full(n, series[t, 0]), grid], axis=1)
    log_q = jax.jit(jax.vmap(lambda point: kernel.log_probs(rows, wide, point)))(z)
    joint = np.exp(log_q).mean(axis=0)
    below = np.interp(series[t, 1], grid, np.cumsum(joint) / joint.sum())
    found = one_step(jax.random.key(0), likelihood, series, z)
    assert found.pit[t, 1] == pytest.approx(below, abs=0.02)
    assert found.pit.shape == (6, 2)


@pytest.mark.slow
def test_a_long_series_goes_in_blocks(result, monkeypatch):
    """A block does not know of the others: values and draws are the same."""
    likelihood, z = result.posterior.likelihood, thinned(result.unconstrained(), 5)
    key, series = jax.random.key(0), result.problem.series
    monkeypatch.setattr(module, "NUM_SIMULATED", 99)

    def values():
        exact, simulated = (one_step(key, one, series, z) for one in (likelihood, bare(likelihood)))
        return exact.pit, exact.tail, simulated.pit, predictive_draws(key, likelihood, z, 7)

    whole = values()
    monkeypatch.setattr(module, "ROWS", 8)
    for a, b in zip(whole, values(), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_log_scores_are_of_the_average_density(result):
    found = ask(result, result.posterior.likelihood)
    z = thinned(result.unconstrained(), 20)
    factors = jax.jit(jax.vmap(result.posterior.likelihood.factors))(jnp.asarray(z))
    np.testing.assert_allclose(found.log_score, np.log(np.exp(factors).mean(axis=0)), atol=1e-4)


def test_integers_get_values_drawn_from_their_step(result):
    likelihood = counting(result.posterior.likelihood)
    ones = [ask(result, likelihood, seed=seed).pit for seed in (0, 1)]
    assert not np.array_equal(*ones)
    targets = likelihood.kernel.targets(jnp.asarray(result.problem.series, dtype=float))
    z = jnp.asarray(thinned(result.unconstrained(), 20))
    below, above = (np.asarray(x) for x in _exact(likelihood, targets, z))
    for pit in ones:
        assert ((pit > below - 1e-6) & (pit < 1 - above + 1e-6)).all()


def test_predictive_draws_have_the_right_shares(result):
    z = thinned(result.unconstrained(), 20)
    likelihood = result.posterior.likelihood
    draws = predictive_draws(jax.random.key(3), bare(likelihood), z, 999)
    share = (draws < result.problem.series).mean(axis=0)
    assert np.abs(share - ask(result, likelihood).pit).max() < 0.07


def test_one_step_of_a_result(result):
    found = one_step_of(result)
    assert found.time.tolist() == list(range(1, 21))
    assert ((found.pit >= 0) & (found.pit <= 1)).all()
