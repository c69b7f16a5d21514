import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import tsnl
from tsnl.likelihood import kalman_filter, particle_filter
from tsnl.likelihood.particle import bootstrap, particle_keys
from tsnl.models import LinearGaussian, LotkaVolterra, StochasticVolatility

MODEL = LinearGaussian()
SERIES = MODEL.simulate(seed=1, length=40)


def estimates(model, series, num_particles, num_runs, **options):
    rows = jnp.asarray(series)
    run = jax.jit(
        jax.vmap(lambda k: bootstrap(k, model, {}, rows, num_particles, **options).log_likelihood)
    )
    return np.asarray(run(jax.random.split(jax.random.key(7), num_runs)), dtype=float)


@pytest.mark.parametrize("resample_below", [0.0, 0.5, 1.0])
def test_the_likelihood_is_unbiased(resample_below):
    series = SERIES[:10]
    exact = float(kalman_filter(MODEL, {}, series).log_likelihood)
    ratio = np.exp(estimates(MODEL, series, 50, 20_000, resample_below=resample_below) - exact)
    assert abs(ratio.mean() - 1) < 4.5 * ratio.std() / np.sqrt(len(ratio))


@pytest.mark.slow
def test_unbiased_with_missing_rows_in_two_dimensions():
    model = LinearGaussian(A=np.array([[0.8, 0.3], [-0.2, 0.6]]), R=[0.5, 1.0])
    series = model.simulate(seed=2, length=10)
    series = np.where(np.isin(np.arange(10), [0, 4, 5])[:, None], np.nan, series)
    exact = float(kalman_filter(model, {}, series).log_likelihood)
    ratio = np.exp(estimates(model, series, 100, 20_000) - exact)
    assert abs(ratio.mean() - 1) < 4.5 * ratio.std() / np.sqrt(len(ratio))


def test_filtered_means_agree_with_kalman():
    exact = kalman_filter(MODEL, {}, SERIES).filtered
    runs = [particle_filter(jax.random.key(i), MODEL, {}, SERIES, 2000) for i in range(10)]
    means = np.stack([run.means for run in runs])[:, :, 0]
    error = means.std(0, ddof=1) / np.sqrt(len(runs))
    # Student's t with 9 degrees of freedom at 40 time steps: 6.5 is past the 1e-4 level
    assert (np.abs(means.mean(0) - exact.means[:, 0]) < 6.5 * error).all()


def test_what_it_returns():
    found = particle_filter(jax.random.key(0), MODEL, {"Q": 0.2}, SERIES, 64)
    assert found.cost == 40 * 64
    assert found.particles.shape == (64, 1)
    assert found.ess.shape == (40,)
    np.testing.assert_allclose(found.weights.sum(), 1.0, rtol=1e-5)
    assert (found.ess <= 64 * 1.001).all()


def test_a_missing_row_changes_no_weight():
    series = np.array([np.nan, 1.0])
    found = particle_filter(jax.random.key(0), MODEL, {}, series, 100)
    np.testing.assert_allclose(found.ess[0], 100, rtol=1e-4)


def test_a_collapsed_filter_is_minus_infinity():
    far = np.array([0.1, 1e30, 0.1])  # its density is below the smallest float
    found = particle_filter(jax.random.key(0), MODEL, {}, far, 50)
    assert found.log_likelihood == -np.inf
    assert not np.isnan(found.means).any()


def test_failed_particles_have_no_weight():
    """Particles past the event cap are NaN; the rest carry on, and all failing is -inf."""
    some = LotkaVolterra(rho1=0.0, rho2=0.0, rho3=1.0, event_cap=48, noise_sd=20.0)
    found = particle_filter(jax.random.key(0), some, {}, np.full(3, 140.0), 200)
    assert np.isfinite(found.log_likelihood)
    assert np.isfinite(found.means).all()
    none = LotkaVolterra(rho3=5.0, event_cap=3)
    assert particle_filter(jax.random.key(0), none, {}, np.ones(3), 20).log_likelihood == -np.inf


@pytest.mark.parametrize(
    "model", [StochasticVolatility(), LotkaVolterra(), LotkaVolterra(observe="both")]
)
def test_every_model_with_a_density_can_be_filtered(model):
    series = model.simulate(seed=0, length=12)
    found = particle_filter(jax.random.key(0), model, {}, series, 200)
    assert np.isfinite(found.log_likelihood)


def test_agrees_with_brute_force_on_the_volatility_model():
    """One step: the mean of the density over many draws of the state is the likelihood."""
    model = StochasticVolatility()
    series = model.simulate(seed=3, length=1)
    theta = model.complete()

    def one(key):
        a, b = jax.random.split(key)
        state = model.sample_transition(b, model.sample_initial(a, theta), theta, 1, None)
        return model.log_observation(jnp.asarray(series[0]), state, theta, 1, None)

    density = np.exp(jax.vmap(one)(jax.random.split(jax.random.key(0), 100_000)))
    ratio = np.exp(estimates(model, series, 100, 5000))
    error = np.hypot(density.std() / np.sqrt(len(density)), ratio.std() / np.sqrt(len(ratio)))
    assert abs(density.mean() - ratio.mean()) < 4.5 * error


def test_pytree_states_and_inputs():
    class Trend(tsnl.StateSpaceModel):
        sd: float = 0.1

        def sample_initial(self, key, theta):
            return {"level": jnp.zeros(()), "slope": jnp.ones(())}

        def sample_transition(self, key, state, theta, t, u):
            return {"level": state["level"] + state["slope"] + u[0], "slope": state["slope"]}

        def sample_observation(self, key, state, theta, t, u):
            return state["level"] + theta["sd"] * jax.random.normal(key)

        def log_observation(self, y, state, theta, t, u):
            return jax.scipy.stats.norm.logpdf(y, state["level"], theta["sd"])

    inputs = np.array([[0.0], [5.0], [0.0]])
    series = Trend().simulate(seed=0, length=3, inputs=inputs)
    found = particle_filter(jax.random.key(0), Trend(), {}, series, 10, inputs=inputs)
    np.testing.assert_allclose(found.means["level"], [1, 7, 8], rtol=1e-5)
    expected = scipy.stats.norm.logpdf(series[:, 0], [1, 7, 8], 0.1).sum()
    np.testing.assert_allclose(found.log_likelihood, expected, rtol=1e-4)


def test_particle_keys_are_distinct_and_independent():
    keys = particle_keys(jax.random.key(0), 4096)
    assert len(np.unique(np.asarray(jax.random.key_data(keys)), axis=0)) == 4096
    draws = np.asarray(jax.vmap(jax.random.normal)(keys))
    assert abs(draws.mean()) < 4.5 / 64
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 4.5 / 64


def test_errors():
    class Blind(tsnl.StateSpaceModel):
        def sample_initial(self, key, theta):
            return jnp.zeros(())

        def sample_transition(self, key, state, theta, t, u):
            return state

        def sample_observation(self, key, state, theta, t, u):
            return state

    with pytest.raises(TypeError, match="Blind has no log_observation"):
        particle_filter(jax.random.key(0), Blind(), {}, np.ones(3), 10)
    with pytest.raises(ValueError, match="num_particles is 0"):
        particle_filter(jax.random.key(0), MODEL, {}, SERIES, 0)
    with pytest.raises(ValueError, match="Row 1 of the series is missing only in part"):
        particle_filter(jax.random.key(0), StochasticVolatility(), {}, [[1.0, 2.0], [np.nan, 1.0]], 10)
