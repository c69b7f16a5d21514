import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.stats

import tsnl
from tsnl.models import LinearGaussian
from tsnl.simulation import simulate

A = np.array([[0.8, 0.3], [-0.2, 0.6]])
H = np.array([[1.0, 0.0], [0.5, -1.0], [0.2, 0.2]])
Q = np.array([[0.3, 0.1], [0.1, 0.2]])
R = np.diag([0.1, 0.2, 0.3]) + 0.05
FULL = LinearGaussian(A=A, H=H, Q=Q, R=R, q_0=[0.1, -0.2], r_0=[1.0, 2.0, 3.0])


def test_dimensions():
    assert (LinearGaussian().d_x, LinearGaussian().d_y) == (1, 1)
    assert (FULL.d_x, FULL.d_y) == (2, 3)
    assert (LinearGaussian(A=np.eye(3)).d_x, LinearGaussian(A=np.eye(3)).d_y) == (3, 3)
    assert LinearGaussian(R=[0.1, 0.2]).d_x == 2


def test_stationary_moments():
    n, length = 4000, 60
    model = FULL
    series = simulate(jax.random.key(0), model, {"mu_0": np.zeros((n, 2))}, length).series[:, -1]
    mean_x = np.linalg.solve(np.eye(2) - A, [0.1, -0.2])
    cov_x = scipy.linalg.solve_discrete_lyapunov(A, Q)
    mean, cov = H @ mean_x + [1, 2, 3], H @ cov_x @ H.T + R
    error = np.abs(series.mean(0) - mean) / np.sqrt(np.diag(cov) / n)
    assert error.max() < 4.5
    # the variance of a sample covariance of normals: (s_ij^2 + s_ii s_jj) / n
    spread = np.sqrt((cov**2 + np.outer(np.diag(cov), np.diag(cov))) / n)
    assert (np.abs(np.cov(series.T) - cov) / spread).max() < 4.5


def test_log_observation():
    theta = FULL.complete()
    state, y = jnp.array([0.4, -1.0]), jnp.array([1.0, 2.5, 2.0])
    expected = scipy.stats.multivariate_normal.logpdf(y, H @ np.asarray(state) + [1, 2, 3], R)
    np.testing.assert_allclose(FULL.log_observation(y, state, theta, 1, None), expected, rtol=1e-5)


@pytest.mark.parametrize("short", [0.3, [0.3, 0.3], [[0.3, 0.0], [0.0, 0.3]]])
def test_shorthand_for_covariances(short):
    model = LinearGaussian(A=A, Q=short, R=short, Sigma_0=short)
    reference = LinearGaussian(A=A, Q=0.3, R=0.3, Sigma_0=0.3)
    np.testing.assert_allclose(
        model.simulate(seed=4, length=20), reference.simulate(seed=4, length=20), rtol=1e-5
    )
    y = jnp.array([0.1, 0.2])
    np.testing.assert_allclose(
        model.log_observation(y, 0 * y, model.complete(), 1, None),
        reference.log_observation(y, 0 * y, reference.complete(), 1, None),
        rtol=1e-5,
    )


def test_every_parameter_can_be_replaced():
    theta = {name: np.asarray(value) * 1.1 + 0.05 for name, value in FULL.parameters.items()}
    assert set(theta) == {"A", "H", "Q", "R", "q_0", "r_0", "mu_0", "Sigma_0"}
    for name, value in theta.items():
        changed = FULL.simulate(seed=1, length=5, theta={name: value})
        assert not np.allclose(changed, FULL.simulate(seed=1, length=5)), name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"A": np.eye(2), "mu_0": np.zeros(3)}, "disagree on the state's dimension"),
        ({"H": np.ones((2, 2)), "R": np.eye(3)}, "disagree on the observation's dimension"),
        ({"H": np.ones(2)}, "give a number or a"),
        ({"Q": -1.0}, "negative"),
        ({"Q": [[1.0, 0.5], [0.0, 1.0]]}, "not symmetric"),
        ({"Q": [[1.0, 2.0], [2.0, 1.0]]}, "not positive definite"),
    ],
)
def test_bad_parameters(arguments, message):
    with pytest.raises(ValueError, match=message):
        tsnl.models.LinearGaussian(**arguments)
