"""The Kalman filter against dense multivariate normal algebra, to 1e-8 in 64 bit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import tsnl
from tsnl.likelihood import kalman_filter, kalman_smoother
from tsnl.likelihood.kalman import filter_moments
from tsnl.models import LinearGaussian

LENGTH = 7


def covariance(rng, size):
    root = rng.normal(size=(size, size))
    return root @ root.T + 0.3 * np.eye(size)


def random_model(seed):
    rng = np.random.default_rng(seed)
    d_x, d_y = rng.integers(1, 5, size=2)
    A = rng.normal(size=(d_x, d_x))
    return LinearGaussian(
        A=0.9 * A / np.abs(np.linalg.eigvals(A)).max(),
        H=rng.normal(size=(d_y, d_x)),
        Q=covariance(rng, d_x),
        R=covariance(rng, d_y),
        q_0=rng.normal(size=d_x),
        r_0=rng.normal(size=d_y),
        mu_0=rng.normal(size=d_x),
        Sigma_0=covariance(rng, d_x),
    )


def dense(model, length):
    """Means and covariances of all states and all observations, stacked over time."""
    d_x = model.d_x
    mean, cov = model.mu_0, model.Sigma_0
    means, blocks = [], np.zeros((length, d_x, length, d_x))
    for t in range(length):
        mean, cov = model.A @ mean + model.q_0, model.A @ cov @ model.A.T + model.Q
        means.append(mean)
        blocks[t, :, t] = cov
        for s in range(t):
            cross = model.A @ blocks[t - 1, :, s]
            blocks[t, :, s] = cross
            blocks[s, :, t] = cross.T
    cov_x = blocks.reshape(length * d_x, length * d_x)
    big_h = np.kron(np.eye(length), model.H)
    mean_x = np.concatenate(means)
    mean_y = big_h @ mean_x + np.tile(model.r_0, length)
    cov_y = big_h @ cov_x @ big_h.T + np.kron(np.eye(length), model.R)
    return mean_x, cov_x, mean_y, cov_y, big_h


def observed_series(model, seed, missing):
    rng = np.random.default_rng(seed)
    series = rng.normal(size=(LENGTH, model.d_y)) * 2
    if missing == "rows":
        series[[0, 3, 6]] = np.nan
    if missing == "entries":
        series[rng.uniform(size=series.shape) < 0.35] = np.nan
        series[2, 0] = 1.0
    return series


@pytest.mark.parametrize("missing", ["none", "rows", "entries"])
@pytest.mark.parametrize("seed", range(6))
def test_against_the_dense_normal(seed, missing):
    model = random_model(seed)
    series = observed_series(model, seed, missing)
    mean_x, cov_x, mean_y, cov_y, big_h = dense(model, LENGTH)
    seen = ~np.isnan(series.ravel())
    S = cov_y[np.ix_(seen, seen)]
    log_p = scipy.stats.multivariate_normal.logpdf(series.ravel()[seen], mean_y[seen], S)
    found = kalman_filter(model, {}, series)
    assert found.log_likelihood.dtype == np.float64
    np.testing.assert_allclose(found.log_likelihood, log_p, rtol=1e-8, atol=1e-8)

    gain = (cov_x @ big_h.T)[:, seen] @ np.linalg.inv(S)
    mean = mean_x + gain @ (series.ravel()[seen] - mean_y[seen])
    cov = cov_x - gain @ (big_h @ cov_x)[seen]
    smoothed = kalman_smoother(model, {}, series)
    np.testing.assert_allclose(smoothed.means.ravel(), mean, atol=1e-8)
    for t in range(LENGTH):
        part = slice(t * model.d_x, (t + 1) * model.d_x)
        np.testing.assert_allclose(smoothed.covariances[t], cov[part, part], atol=1e-8)
    np.testing.assert_allclose(found.filtered.means[-1], smoothed.means[-1], atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_filtered_is_smoothed_of_the_past(seed):
    model = random_model(seed)
    series = observed_series(model, seed, "entries")
    filtered = kalman_filter(model, {}, series).filtered
    past = kalman_smoother(model, {}, series[:4])
    np.testing.assert_allclose(filtered.means[3], past.means[-1], atol=1e-9)
    np.testing.assert_allclose(filtered.covariances[3], past.covariances[-1], atol=1e-9)


def test_against_cuthbert():
    from cuthbert import filter as run_filter
    from cuthbert.gaussian import kalman

    model = random_model(11)
    with jax.enable_x64(True):
        rows = jnp.asarray(observed_series(model, 11, "none"))
        root = jnp.linalg.cholesky
        p = {name: jnp.asarray(value) for name, value in model.parameters.items()}
        other = kalman.build_filter(
            p["mu_0"],
            root(p["Sigma_0"]),
            lambda _: (p["A"], p["q_0"], root(p["Q"])),
            lambda i: (p["H"], p["r_0"], root(p["R"]), rows[i]),
        )
        states = run_filter(other, jnp.arange(LENGTH), other.init_prepare())
        ours = filter_moments(model, {}, rows)
    np.testing.assert_allclose(ours.log_likelihood, states.log_normalizing_constant[-1], rtol=1e-9)
    np.testing.assert_allclose(ours.filtered.means, states.mean[1:], atol=1e-9)


def test_theta_and_shorthand():
    series = LinearGaussian().simulate(seed=0, length=20)
    a = kalman_filter(LinearGaussian(Q=0.7), {}, series).log_likelihood
    b = kalman_filter(LinearGaussian(), {"Q": 0.7}, series).log_likelihood
    c = kalman_filter(LinearGaussian(), {"Q": np.array([[0.7]])}, series).log_likelihood
    assert a == b == c


def test_gradient_inside_jit():
    model = LinearGaussian()
    rows = jnp.asarray(model.simulate(seed=0, length=50)).at[3].set(jnp.nan)

    def log_p(q):
        return filter_moments(model, {"Q": q}, rows).log_likelihood

    slope = jax.jit(jax.grad(log_p))(0.1)
    finite = (log_p(0.105) - log_p(0.095)) / 0.01
    np.testing.assert_allclose(slope, finite, rtol=0.02)


def test_a_long_series_stays_accurate():
    """Ten thousand steps: the 64-bit sum does not drift from the stationary increments."""
    series = LinearGaussian().simulate(seed=0, length=10_000)
    whole = kalman_filter(LinearGaussian(), {}, series)
    assert np.isfinite(whole.log_likelihood)
    np.testing.assert_allclose(whole.filtered.covariances[100], whole.filtered.covariances[-1])


@pytest.mark.usefixtures("unchecked")
def test_errors():
    with pytest.raises(TypeError, match="not for StochasticVolatility"):
        kalman_filter(tsnl.models.StochasticVolatility(), {}, np.ones((5, 2)))
    with pytest.raises(ValueError, match="the model observes 1"):
        kalman_filter(LinearGaussian(), {}, np.ones((5, 2)))
