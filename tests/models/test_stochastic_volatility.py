import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from tsnl.models import StochasticVolatility

C3 = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, -0.3], [0.2, -0.3, 1.0]])


@pytest.mark.parametrize("C", [StochasticVolatility().C, C3])
def test_conditional_covariance(C):
    model = StochasticVolatility(C=C, d=0.7)
    n, size = 40_000, model.size
    state = jnp.linspace(-1.0, 1.0, size)
    keys = jax.random.split(jax.random.key(0), n)
    draws = jax.vmap(lambda k: model.sample_observation(k, state, model.complete(), 1, None))(keys)
    D = np.diag(np.exp(np.asarray(state) / 2))
    cov = D @ C @ D
    spread = np.sqrt((cov**2 + np.outer(np.diag(cov), np.diag(cov))) / n)
    assert (np.abs(np.cov(draws.T) - cov) / spread).max() < 4.5
    assert (np.abs(draws.mean(0) - 0.7) / np.sqrt(np.diag(cov) / n)).max() < 4.5


@pytest.mark.parametrize("R", [1.0, [0.5, 2.0, 1.0], np.diag([0.5, 2.0, 1.0]) + 0.1])
def test_log_observation(R):
    model = StochasticVolatility(C=C3, R=R)
    state, y = jnp.array([0.3, -0.5, 1.0]), jnp.array([1.0, -1.0, 0.3])
    root = np.diag(np.exp(np.asarray(state) / 2)) @ np.linalg.cholesky(C3)
    R = np.asarray(R, float)
    R = R if R.ndim == 2 else np.diag(np.broadcast_to(R, 3))
    expected = scipy.stats.multivariate_normal.logpdf(y, np.zeros(3), root @ R @ root.T)
    found = model.log_observation(y, state, model.complete(), 1, None)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_log_volatility_is_a_linear_process():
    model = StochasticVolatility(A=0.5, b=1.0, Q=0.2)
    keys = jax.random.split(jax.random.key(0), 20_000)
    state = jnp.array([1.0, -1.0])
    draws = jax.vmap(lambda k: model.sample_transition(k, state, model.complete(), 1, None))(keys)
    assert np.abs(draws.mean(0) - np.array([1.5, 0.5])).max() < 4.5 * np.sqrt(0.2 / 20_000)
    assert np.abs(draws.var(0) - 0.2).max() < 4.5 * 0.2 * np.sqrt(2 / 20_000)


def test_any_dimension():
    for size in (1, 2, 5):
        assert StochasticVolatility(C=np.eye(size)).simulate(seed=0, length=3).shape == (3, size)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"C": 2 * np.eye(2)}, "no correlation matrix"),
        ({"C": np.eye(2), "b": np.zeros(3)}, "disagree on the dimension"),
        ({"C": [[1.0, 1.5], [1.5, 1.0]]}, "not positive definite"),
    ],
)
def test_bad_parameters(arguments, message):
    with pytest.raises(ValueError, match=message):
        StochasticVolatility(**arguments)
