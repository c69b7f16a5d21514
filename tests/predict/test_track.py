"""The state as data arrive, against the Kalman filter."""

import dataclasses
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl import MCMC, TSNL, Training
from tsnl.kernel import Mixture
from tsnl.likelihood.kalman import filter_moments
from tsnl.models import LinearGaussian
from tsnl.predict.track import Track
from tsnl.sampling.smc import Cloud

MODEL = LinearGaussian()
SHARP = tsnl.Prior(Q=dist.LogNormal(np.log(0.1), 0.01))  # so that theta is known
LONG = MODEL.simulate(seed=1, length=30).astype(float)
NUM_PARTICLES, NUM_DRAWS = 300, 10


@cache
def result():
    method = TSNL(
        states=False,
        rounds=1,
        simulations=16,
        gaps=True,
        head=Mixture(num_components=2, width=4, depth=1),
        training=Training(num_members=2, min_steps=60, max_steps=60),
        sampler=MCMC(num_chains=4, num_warmup=100, num_draws=150, max_extensions=0),
    )
    return tsnl.infer(MODEL, SHARP, LONG[:20], method, seed=0)


@cache
def begun():
    return result().track(seed=0, num_draws=NUM_DRAWS, num_particles=NUM_PARTICLES, num_theta=50)


@pytest.mark.slow
def test_it_agrees_with_the_kalman_filter_at_a_known_theta():
    rows = LONG[:26].copy()
    rows[22] = np.nan  # a missing row is predicted through
    with jax.enable_x64(True):
        means, covariances = filter_moments(MODEL, {"Q": 0.1}, jnp.asarray(rows)).filtered
    stream = begun().stream
    track = Track.begin(MODEL, stream, NUM_DRAWS, NUM_PARTICLES).update(rows[20:])
    sd = np.sqrt(np.asarray(covariances)[19:, 0, 0])
    # ten filters of 300 particles; theta's own spread of 1 % moves the mean by far less
    error = (track.mean()[:, 0] - np.asarray(means)[19:, 0]) / sd
    assert np.abs(error).max() < 5 / np.sqrt(NUM_DRAWS * NUM_PARTICLES / 4)
    low, high = track.quantiles((0.05, 0.95))[..., 0]
    np.testing.assert_allclose((high - low) / sd, 2 * 1.645, rtol=0.15)


@pytest.mark.slow
def test_one_row_at_a_time_is_all_at_once():
    once, step = begun().update(LONG[20:23]), begun()
    for row in LONG[20:23]:
        step = step.update(row)
    np.testing.assert_array_equal(once.mean(), step.mean())
    assert len(begun().means) == 1  # the old one is as it was
    assert once.labels == ("x[0]",)


def test_thetas_are_drawn_anew_when_the_stream_moves():
    track = begun()
    tired = track.cloud.log_weights.copy()
    tired[1:] = -50.0
    track = dataclasses.replace(track, cloud=Cloud(track.cloud.z, tired - np.logaddexp.reduce(tired)))
    after = track.update(LONG[20])
    assert after.reruns == 1
    assert after.cloud.ess == pytest.approx(NUM_DRAWS)


def test_it_is_saved_and_goes_on_as_it_would_have(tmp_path):
    track = begun().update(LONG[20:22])
    track.save(tmp_path)
    found = Track.load(tmp_path, MODEL, result().posterior)
    a, b = track.update(LONG[22:24]), found.update(LONG[22:24])
    np.testing.assert_array_equal(a.mean(), b.mean())
    np.testing.assert_array_equal(a.stream.cloud.log_weights, b.stream.cloud.log_weights)
    assert a.stream.scores == b.stream.scores


def test_what_cannot_be_tracked():
    with pytest.raises(ValueError, match="num_draws is 1 and num_particles 300: at least 2"):
        Track.begin(MODEL, begun().stream, 1, 300)
    with pytest.raises(TypeError, match="no log_observation"):
        Track.begin(Blind(), begun().stream, 10, 10)


class Blind(tsnl.StateSpaceModel):
    def sample_initial(self, key, theta):
        return jax.random.normal(key)

    def sample_transition(self, key, state, theta, t, u):
        return state

    def sample_observation(self, key, state, theta, t, u):
        return state
