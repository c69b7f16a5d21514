import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tsnl.likelihood.completion import Completion, fit, precisions, terms


def test_nothing_to_learn():
    z = np.linspace(-1, 1, 10)[:, None]
    assert Completion.of(z, np.ones(10, bool)) is None
    assert Completion.of(z, np.zeros(10, bool)) is None


def test_terms_are_all_products():
    z = np.array([2.0, 3.0])
    np.testing.assert_array_equal(terms(z), [1, 2, 3, 4, 6, 9])
    np.testing.assert_array_equal(terms(jnp.asarray(z)), [1, 2, 3, 4, 6, 9])
    assert precisions(2).shape == (6,)


def test_the_fit_is_where_the_gradient_vanishes():
    rng = np.random.default_rng(0)
    x, precision = np.asarray(terms(rng.normal(size=(50, 2)))), precisions(2)
    y = (rng.uniform(size=50) < 0.6).astype(float)
    w = fit(x, y, precision)
    p = 1 / (1 + np.exp(-x @ w))
    np.testing.assert_allclose(x.T @ (p - y) + precision * w, 0, atol=1e-6)


@pytest.mark.parametrize("shift", [0.0, 50.0])
def test_it_finds_the_probability(shift):
    rng = np.random.default_rng(1)
    z = rng.normal(size=(4000, 2)) * [1.0, 0.1] + shift

    def true(z):
        return 1 / (1 + np.exp(-(1.0 - 1.5 * (z[:, 0] - shift) + 4.0 * (z[:, 1] - shift))))

    found = Completion.of(z, rng.uniform(size=4000) < true(z))
    grid = rng.normal(size=(200, 2)) * [1.0, 0.1] + shift
    p = np.exp(jax.vmap(found)(jnp.asarray(grid, jnp.float32)))
    assert np.abs(p - true(grid)).max() < 0.08
    assert np.abs(p - true(grid)).mean() < 0.02


def test_separated_and_single_failures_stay_finite():
    z = np.linspace(-3, 3, 30)[:, None]
    for ok in (z[:, 0] < 0.5, np.arange(30) != 4):
        found = Completion.of(z, ok)
        values = np.asarray(jax.vmap(found)(jnp.asarray(z, jnp.float32)))
        assert np.isfinite(values).all()
        assert (values <= 0).all()
    assert values[15] > np.log(0.8)  # one failure of thirty does not forbid much
