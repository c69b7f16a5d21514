"""Particles that follow the data, against the posterior that they stand for."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl import MCMC, TSNL, Training
from tsnl.kernel import Mixture
from tsnl.models import LinearGaussian
from tsnl.posterior import Stream, refresh
from tsnl.posterior import stream as stream_module
from tsnl.posterior.overlap import count_known
from tsnl.show.plots import stream_figure

MODEL = LinearGaussian()
PRIOR = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
LONG = MODEL.simulate(seed=1, length=60).astype(float)
SAMPLER = MCMC(num_chains=4, num_warmup=100, num_draws=150, max_extensions=0)


@cache
def posterior(gaps=False):
    method = TSNL(
        states=False,
        rounds=1,
        simulations=16,
        head=Mixture(num_components=2, width=4, depth=1),
        training=Training(num_members=2, min_steps=60, max_steps=60),
        sampler=SAMPLER,
        gaps=gaps,
    )
    return tsnl.infer(MODEL, PRIOR, LONG[:20], method, seed=0).posterior


@cache
def begun(gaps=False):
    return Stream.begin(posterior(gaps), LONG[:20], seed=0, num_particles=300, sampler=SAMPLER)


def log_ratio(stream, z):
    """Log-likelihood of the rows of a stream beyond the first twenty, at each z."""

    def factors(p):
        return np.asarray(jax.jit(jax.vmap(p.likelihood))(jnp.asarray(z)), dtype=float)

    return factors(stream.posterior) - factors(posterior())


def test_weights_are_those_of_the_new_rows():
    old = begun()
    stream = old.update(LONG[20:23])
    assert stream.refreshes == 0
    expected = log_ratio(stream, old.cloud.z)
    found = stream.cloud.log_weights - old.cloud.log_weights
    np.testing.assert_allclose(found - found[0], expected - expected[0], atol=2e-3)
    np.testing.assert_allclose(stream.log_evidence, np.log(np.mean(np.exp(expected))), atol=2e-3)
    assert len(old.series) == 20  # the old one is as it was
    assert old.scores == ()


def test_row_by_row_or_all_at_once():
    one_by_one = begun().update(LONG[20]).update(LONG[21])
    together = begun().update(LONG[20:22])
    np.testing.assert_array_equal(one_by_one.cloud.log_weights, together.cloud.log_weights)
    assert one_by_one.scores == together.scores


def test_particles_are_moved_when_they_run_out():
    stream = begun().update(LONG[20:])
    again = begun().update(LONG[20:])
    np.testing.assert_array_equal(stream.cloud.z, again.cloud.z)  # one seed, the same bits
    assert stream.cloud.ess >= 150
    fresh = stream.posterior.sample(seed=1, options=MCMC(num_chains=4, num_draws=1000))
    exact, found = np.log(fresh["Q"]).ravel(), np.log(stream.sample(1000)["Q"]).ravel()
    error = exact.std() * np.sqrt(1 / 150 + 1 / 400)
    assert abs(exact.mean() - found.mean()) < 4.5 * error


def test_update_of_a_posterior_begins_a_stream():
    stream = posterior().update(LONG[20:22], num_particles=100)
    np.testing.assert_allclose(stream.series, LONG[:22], rtol=1e-4, atol=1e-4)
    assert len(stream.scores) == 2


def test_a_missing_row_changes_no_weight():
    stream = begun(gaps=True).update([[np.nan]])
    np.testing.assert_array_equal(stream.cloud.log_weights, begun(gaps=True).cloud.log_weights)
    assert np.isnan(stream.scores[0])
    with pytest.raises(ValueError, match="not trained for"):
        begun().update([[np.nan]])


def test_rows_far_outside_are_told_of(monkeypatch):
    monkeypatch.setattr(refresh, "COLLAPSED", 0)
    with pytest.warns(UserWarning, match="1 of 1 new rows lie outside the region"):
        stream = begun().update([40.0])
    assert stream.distances[0] > 1


def test_an_outlier_does_not_leave_one_particle():
    """One row that only few particles can explain: all are drawn anew, and that is said."""
    one, other = "outside the region", r"effective particles of 300: all were drawn anew by MCMC"
    with pytest.warns(UserWarning, match=one), pytest.warns(UserWarning, match=other):
        stream = begun().update([40.0])
    assert stream.redrawn == (20,)
    assert stream.refreshes == 1
    fresh = np.log(stream.posterior.sample(seed=1, options=MCMC(num_chains=4, num_draws=1000))["Q"])
    assert 0.5 < np.log(stream.sample(300)["Q"]).std() / fresh.std() < 2.0
    assert len(np.unique(stream.cloud.z)) > 200


@pytest.mark.parametrize(
    ("start", "known"), [(0, 20), (10, 10), (15, 5), (17, 3), (18, 0), (19, 0), (20, 0), (21, 0)]
)
def test_known_rows_are_found(start, known):
    assert count_known(LONG[:20], LONG[start:30]) == known
    assert count_known(LONG[5:20], LONG[start:30]) == known  # a part of the file was fitted


def test_rows_that_are_alike_by_chance_are_new():
    counts = np.array([0.0, 1.0, 2.0] * 6)[:, None]
    assert count_known(counts, counts[:9]) == 0
    assert count_known(counts, counts) == 18
    assert count_known(np.ones((20, 1)), np.ones((30, 1))) == 0
    gap = np.where(np.arange(20)[:, None] == 15, np.nan, LONG[:20])
    assert count_known(gap, np.concatenate([gap, LONG[20:30]])) == 20


def test_rows_are_not_counted_twice():
    with pytest.raises(ValueError, match=r"first 20 of the 22 rows are known already.*rows\[20:\]"):
        begun().update(LONG[:22])
    masked = np.ma.array([[1.0]], mask=True)
    assert np.isnan(begun(gaps=True).update(masked).series[-1, 0])


def test_it_is_saved_and_goes_on_as_it_would_have(tmp_path):
    stream = begun().update(LONG[20:22])
    stream.save(tmp_path / "stream.npz")
    found = Stream.load(tmp_path / "stream.npz", posterior())
    assert found.scores == stream.scores
    a, b = (one.update(LONG[22:24]) for one in (stream, found))
    np.testing.assert_array_equal(a.cloud.log_weights, b.cloud.log_weights)
    np.testing.assert_array_equal(np.stack(a.bands), np.stack(b.bands))


def test_bands_are_quantiles_of_the_particles_and_are_drawn():
    stream = begun().update(LONG[20:23])
    low, middle, high = np.stack(stream.bands)[-1][[0, 2, 4], 0]
    q, weights = np.exp(stream.cloud.z[:, 0]), stream.cloud.weights
    for level, value in ((0.05, low), (0.5, middle), (0.95, high)):
        assert weights[q < value * (1 - 1e-6)].sum() <= level <= weights[q <= value * (1 + 1e-6)].sum()
    figure = stream_figure(stream)
    assert [axes.get_ylabel() for axes in figure.axes] == ["Q", "log-score"]


class Counts(tsnl.StateSpaceModel):
    """A Poisson count around a slow level, from dozens to hundreds."""

    sd: float = 0.3

    def sample_initial(self, key, theta):
        return jnp.asarray(4.5)

    def sample_transition(self, key, level, theta, t, u):
        return 4.5 + 0.8 * (level - 4.5) + theta["sd"] * jax.random.normal(key)

    def sample_observation(self, key, level, theta, t, u):
        return 1.0 * jax.random.poisson(key, jnp.exp(level))


@cache
def counted():
    rows = Counts().simulate(seed=1, length=22).astype(float)
    method = TSNL(
        states=False,
        rounds=1,
        simulations=16,
        head=Mixture(num_components=2, width=4, depth=1),
        training=Training(num_members=2, min_steps=60, max_steps=60),
        sampler=SAMPLER,
        transform="asinh",
    )
    prior = tsnl.Prior(sd=dist.LogNormal(-1.0, 0.5))
    return tsnl.infer(Counts(), prior, rows[:20], method, seed=0), rows


def test_counts_stay_counts_in_an_update():
    """Under a transform as well: 88 does not become 87.99998."""
    result, rows = counted()
    stream = result.posterior.update(rows[20:], num_particles=100)
    np.testing.assert_array_equal(stream.series, rows)
    np.testing.assert_array_equal(stream.posterior.panel[0], rows)
    assert stream.posterior.kernel.spec.integer == (True,)


@pytest.mark.slow
def test_counts_stay_counts_in_another_round():
    result, rows = counted()
    stream = result.posterior.update(rows[20:], num_particles=100)
    refined = result.refine(stream, simulations=4, seed=1)
    assert refined.posterior.kernel.spec.integer == (True,)
    forecast = refined.forecast(3, seed=0, num_draws=20).draws
    np.testing.assert_array_equal(forecast, np.round(forecast))


def test_an_update_starts_from_the_draws_of_the_result(monkeypatch):
    started = []
    real = stream_module.sample_posterior

    def watched(key, target, points, *rest):
        started.append(points)
        return real(key, target, points, *rest)

    monkeypatch.setattr(stream_module, "sample_posterior", watched)
    posterior().update(LONG[20:21], num_particles=50)
    np.testing.assert_array_equal(started[0], posterior().z.reshape(-1, 1))
