import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import tsnl
from tsnl.likelihood import kalman_filter, kalman_smoother
from tsnl.likelihood.particle import bootstrap
from tsnl.likelihood.paths import gaussian, kalman_states, particle_states
from tsnl.models import LinearGaussian

A = np.array([[0.8, 0.3], [-0.2, 0.6]])
MODEL = LinearGaussian(A=A, H=np.array([[1.0, 0.5]]), Q=[0.3, 0.2], R=0.2, q_0=[0.1, 0.0])
SERIES = np.array(MODEL.simulate(seed=1, length=6), dtype=float)
SERIES[2] = np.nan


def joint_moments():
    """Mean (T d_x) and covariance of all states given the series, by dense Gaussian conditioning."""
    length, d_x = len(SERIES), 2
    mean, blocks, cov = np.zeros(d_x), [], np.eye(d_x)
    means, covs = [], []
    for _ in range(length):
        mean = A @ mean + np.array([0.1, 0.0])
        cov = A @ cov @ A.T + np.diag([0.3, 0.2])
        means.append(mean)
        covs.append(cov)
    joint = np.zeros((length, d_x, length, d_x))
    for s in range(length):
        for t in range(s, length):
            block = np.linalg.matrix_power(A, t - s) @ covs[s]
            joint[t, :, s, :], joint[s, :, t, :] = block, block.T
    prior, joint = np.concatenate(means), joint.reshape(length * d_x, length * d_x)
    seen = ~np.isnan(SERIES[:, 0])
    blocks = np.kron(np.eye(length), [[1.0, 0.5]])[seen]
    gain = joint @ blocks.T @ np.linalg.inv(blocks @ joint @ blocks.T + 0.2 * np.eye(seen.sum()))
    return prior + gain @ (SERIES[seen, 0] - blocks @ prior), joint - gain @ blocks @ joint


def draw(kind, n=4000):
    rows = jnp.asarray(SERIES)
    run = jax.jit(jax.vmap(lambda key: kalman_states(key, MODEL, {}, rows, kind)))
    return np.asarray(run(jax.random.split(jax.random.key(0), n)), dtype=float)


def assert_moments(draws, mean, covariance, slack=0.0):
    """Within 4.5 standard errors of a normal sample's mean and covariance."""
    n, sd = len(draws), np.sqrt(np.diag(covariance))
    assert (np.abs(draws.mean(0) - mean) < (4.5 / np.sqrt(n) + slack) * sd).all()
    error = np.abs(np.cov(draws.T) - covariance) / np.outer(sd, sd)
    assert (error < 4.5 * np.sqrt(2 / n) + slack).all()


def test_exact_paths_have_the_joint_law():
    draws = draw("smooth")
    assert_moments(draws.reshape(len(draws), -1), *joint_moments())


def test_exact_filtering_draws_have_the_filters_moments():
    draws = draw("filter")
    means, covariances = kalman_filter(MODEL, {}, SERIES).filtered
    for t in range(len(SERIES)):
        assert_moments(draws[:, t], means[t], covariances[t])
    apart = np.corrcoef(draws[:, 3, 0], draws[:, 4, 0])[0, 1]
    assert abs(apart) < 4.5 / np.sqrt(len(draws))


def test_particle_draws_agree_with_kalman():
    """One draw from each of many filters: their bias is of the order of one effective particle."""
    rows = jnp.asarray(SERIES)

    def one(key):
        keys = jax.random.split(key, 3)
        found = bootstrap(keys[0], MODEL, {}, rows, 400, keep_history=True)
        filtered = particle_states(keys[1], found.history, "filter")
        return filtered, particle_states(keys[2], found.history, "smooth"), found.ess

    found = jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(0), 1500))
    filtered, smooth, sizes = (np.asarray(x, dtype=float) for x in found)
    slack = 1 / sizes.mean(axis=0).min()
    assert slack < 0.1
    assert_moments(smooth.reshape(len(smooth), -1), *joint_moments(), slack)
    means, covariances = kalman_filter(MODEL, {}, SERIES).filtered
    for t in range(len(SERIES)):
        assert_moments(filtered[:, t], means[t], covariances[t], slack)


def test_filtering_and_smoothing_differ_here():
    smooth, filtered = kalman_smoother(MODEL, {}, SERIES), kalman_filter(MODEL, {}, SERIES).filtered
    assert np.abs(smooth.means - filtered.means)[:-1].max() > 0.2


class Still(tsnl.StateSpaceModel):
    """A state that never moves: every ancestral line is constant."""

    sd: float = 1.0

    def sample_initial(self, key, theta):
        return jax.random.normal(key)

    def sample_transition(self, key, state, theta, t, u):
        return state

    def sample_observation(self, key, state, theta, t, u):
        return state + theta["sd"] * jax.random.normal(key)

    def log_observation(self, y, state, theta, t, u):
        return jax.scipy.stats.norm.logpdf(y, state, theta["sd"])


def test_a_path_follows_its_ancestors():
    rows = jnp.asarray(Still().simulate(seed=0, length=30)[:, 0])
    found = eqx.filter_jit(bootstrap)(jax.random.key(0), Still(), {}, rows, 50, keep_history=True)
    history = found.history
    resampled = (np.asarray(history.ancestors) != np.arange(50)).any(axis=1)
    assert 0 < resampled.sum() < 30
    keys = jax.random.split(jax.random.key(1), 20)
    paths = np.asarray(jax.jit(jax.vmap(lambda k: particle_states(k, history, "smooth")))(keys))
    assert paths.shape == (20, 30)
    np.testing.assert_array_equal(paths, np.repeat(paths[:, -1:], 30, axis=1))
    np.testing.assert_array_equal(history.weights[-1], found.weights)
    np.testing.assert_array_equal(history.particles[-1], found.particles)


def test_a_singular_covariance_can_be_drawn_from():
    covariance = jnp.array([[1.0, 1.0], [1.0, 1.0 - 1e-9]])
    draws = jax.vmap(lambda k: gaussian(k, jnp.zeros(2), covariance))(
        jax.random.split(jax.random.key(0), 500)
    )
    np.testing.assert_allclose(draws[:, 0], draws[:, 1], atol=1e-3)
