import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tsnl.diagnostics import one_step_of, predictive_draws
from tsnl.diagnostics.draws import thinned, unconstrained
from tsnl.diagnostics.one_step import one_step


class Bare(eqx.Module):
    """A family without conditionals."""

    inner: eqx.Module

    def log_probs(self, y, context, theta):
        return self.inner.log_probs(y, context, theta)

    def sample(self, key, context, theta):
        return self.inner.sample(key, context, theta)


def bare(likelihood):
    return eqx.tree_at(lambda x: x.kernel.members, likelihood, Bare(likelihood.kernel.members))


def ask(result, likelihood, dequantise=False, seed=0, series=None):
    z = thinned(unconstrained(result), 20)
    series = result.problem.series if series is None else series
    return one_step(jax.random.key(seed), likelihood, series, z, dequantise)


def test_the_draws_are_those_of_the_sampler(result):
    z = unconstrained(result)
    np.testing.assert_allclose(z[..., 0], np.log(result.draws["Q"]), rtol=1e-4, atol=1e-5)
    assert thinned(z, 50).shape == (50, 1)
    assert len(thinned(z, 10**6)) == z.shape[0] * z.shape[1]


@pytest.mark.parametrize("name", ["result", "pair"])
def test_exact_and_simulated_values_agree(name, request):
    result = request.getfixturevalue(name)
    exact = ask(result, result.posterior.likelihood)
    simulated = ask(result, bare(result.posterior.likelihood))
    assert exact.pit.shape == result.problem.series.shape
    # by itself the first component has no others before it
    assert np.abs(exact.pit[:, 0] - simulated.pit[:, 0]).max() < 0.07
    assert np.abs(exact.tail[:, 0] - simulated.tail[:, 0]).max() < 0.14
    np.testing.assert_allclose(exact.log_score, simulated.log_score, atol=1e-4)


def test_values_of_the_conditional_distribution(pair):
    """Integrate the joint density over the second component: the first one fixed, a grid for the other."""
    likelihood, t = pair.posterior.likelihood, 10
    z = thinned(unconstrained(pair), 20)
    scaling = likelihood.kernel.scaling
    y, context = likelihood.windows.take(jnp.zeros(1, int), jnp.array([t]))
    grid = jnp.linspace(-12, 12, 2001)
    rows = jnp.stack([jnp.full(2001, y[0, 0]), grid], axis=1)
    wide = jax.tree.map(lambda x: jnp.broadcast_to(x, (2001, *x.shape[1:])), context)

    @jax.jit
    def density(point):
        return jnp.exp(likelihood.kernel.log_probs(rows, wide, scaling.standardise_z(point)))

    joint = np.mean([density(point) for point in z], axis=0)
    below = np.trapezoid(np.where(grid <= y[0, 1], joint, 0.0), grid) / np.trapezoid(joint, grid)
    assert ask(pair, likelihood).pit[t, 1] == pytest.approx(below, abs=0.01)


def test_log_scores_are_of_the_average_density(result):
    found = ask(result, result.posterior.likelihood)
    z = thinned(unconstrained(result), 20)
    factors = jax.jit(jax.vmap(result.posterior.likelihood.factors))(jnp.asarray(z))
    np.testing.assert_allclose(found.log_score, np.log(np.exp(factors).mean(axis=0)), atol=1e-4)


def test_integers_get_values_drawn_from_their_step(result):
    likelihood = result.posterior.likelihood
    ones = [ask(result, likelihood, dequantise=True, seed=seed).pit for seed in (0, 1)]
    assert not np.array_equal(*ones)
    series = result.problem.series
    ends = [ask(result, likelihood, series=series + shift).pit for shift in (-0.5, 0.5)]
    for pit in ones:
        assert ((pit > ends[0] - 1e-6) & (pit < ends[1] + 1e-6)).all()


def test_predictive_draws_have_the_right_shares(result):
    z = thinned(unconstrained(result), 20)
    likelihood = result.posterior.likelihood
    draws = predictive_draws(jax.random.key(3), likelihood, z, 999)
    share = (draws < result.problem.series).mean(axis=0)
    assert np.abs(share - ask(result, likelihood).pit).max() < 0.07


def test_one_step_of_a_result(result):
    found = one_step_of(result)
    assert found.time.tolist() == list(range(1, 31))
    assert ((found.pit >= 0) & (found.pit <= 1)).all()
