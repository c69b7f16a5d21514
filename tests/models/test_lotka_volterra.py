import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tsnl.models import LotkaVolterra
from tsnl.models.gillespie import react
from tsnl.simulation import simulate


def run(rates, state, dt, n=20_000, cap=100_000, seed=0):
    seeds = np.random.default_rng(seed).integers(0, 2**32, (n, 2), dtype=np.uint32)
    states, events = react(
        seeds, np.tile(np.asarray(state, float), (n, 1)), np.tile(rates, (n, 1)), dt, cap
    )
    return states, events


def close(draws, mean, variance):
    """Mean and variance within 4.5 standard errors, the variance's by its fourth moment."""
    n = len(draws)
    centred = draws - draws.mean()
    error_variance = np.sqrt((np.mean(centred**4) - np.var(draws) ** 2) / n)
    assert abs(draws.mean() - mean) < 4.5 * np.sqrt(variance / n)
    assert abs(draws.var() - variance) < 4.5 * error_variance


def test_pure_birth_is_yules_process():
    n0, rate, t = 20, 0.8, 1.5
    states, _ = run([0.0, 0.0, rate, 0.0], [0, n0], t)
    growth = np.exp(rate * t)
    close(states[:, 1], n0 * growth, n0 * growth * (growth - 1))


def test_pure_death_is_binomial():
    n0, rate, t = 50, 0.7, 1.2
    states, _ = run([0.0, 0.0, 0.0, rate], [n0, 0], t)
    alive = np.exp(-rate * t)
    close(states[:, 0], n0 * alive, n0 * alive * (1 - alive))


def test_intervals_compose():
    """Two intervals of half the length follow the same law: the exponential has no memory."""
    rate, n0 = 0.8, 20
    half, _ = run([0.0, 0.0, rate, 0.0], [0, n0], 0.75, seed=1)
    seeds = np.random.default_rng(2).integers(0, 2**32, (len(half), 2), dtype=np.uint32)
    whole, _ = react(seeds, half, np.tile([0.0, 0.0, rate, 0.0], (len(half), 1)), 0.75, 10**6)
    growth = np.exp(rate * 1.5)
    close(whole[:, 1], n0 * growth, n0 * growth * (growth - 1))


def test_extinction_absorbs():
    states, events = run([0.1, 0.1, 1.0, 0.5], [0, 0], 10.0, n=100)
    assert not states.any()
    assert not events.any()
    series = LotkaVolterra(start=(0, 0), noise_sd=0.0).simulate(seed=0, length=5)
    assert not series.any()


@pytest.mark.parametrize(("reaction", "change"), [(0, (1, -1)), (1, (0, -1)), (2, (0, 1)), (3, (-1, 0))])
def test_each_reaction_changes_what_it_should(reaction, change):
    """With one reaction only, the state moves by its stoichiometry times the number of events."""
    rates = np.zeros(4)
    rates[reaction] = 0.01 if reaction < 2 else 0.5
    states, events = run(rates, [50, 100], 0.4, n=500)
    assert events.max() > 5
    np.testing.assert_array_equal(states - [50, 100], events[:, None] * np.array(change))


def test_short_time_rates():
    """In a short interval the chance of each reaction is its rate times the time."""
    rates, dt, n = np.array([0.01, 0.02, 1.0, 0.5]), 1e-4, 400_000
    states, events = run(rates, [50, 100], dt, n=n)
    once = states[events == 1] - [50, 100]
    expected = rates * [5000, 5000, 100, 50] * dt
    for change, chance in zip([(1, -1), (0, -1), (0, 1), (-1, 0)], expected, strict=True):
        count = np.sum((once == change).all(axis=1))
        # two events in one interval: a share of about the total rate x dt = 3 % of these
        assert abs(count - n * chance) < 4.5 * np.sqrt(n * chance) + 0.035 * n * chance


def test_past_the_cap_is_nan_from_that_step_on():
    model = LotkaVolterra(rho1=0.0, rho2=0.0, rho3=2.0, rho4=0.0, event_cap=300)
    series, states = model.simulate(seed=0, length=10, return_states=True)
    failed = np.isnan(states).all(axis=1)
    first = int(np.argmax(failed))
    assert 0 < first < 10
    assert failed[first:].all()
    assert not failed[:first].any()
    np.testing.assert_array_equal(np.isnan(series[:, 0]), failed)


def test_nan_rates_fail_instead_of_hanging():
    states, _ = run([np.nan, 0.1, 1.0, 0.5], [5, 5], 1.0, n=3)
    assert np.isnan(states).all()


def test_a_batch_is_its_members():
    """A trajectory does not know its neighbours: threads, order and batch size play no part."""
    model, key = LotkaVolterra(), jax.random.key(5)
    rho3 = np.linspace(0.5, 1.5, 9)
    whole = simulate(key, model, {"rho3": rho3}, 8).series
    parts = [
        simulate(key, model, {"rho3": rho3[i : i + 1]}, 8, first=i).series for i in range(len(rho3))
    ]
    np.testing.assert_array_equal(whole, np.concatenate(parts))


def test_inside_jit_and_vmap():
    model = LotkaVolterra()
    keys = jax.random.split(jax.random.key(0), 6)
    step = jax.jit(jax.vmap(lambda k, x: model.sample_transition(k, x, model.complete(), 1, None)))
    out = step(keys, jnp.tile(jnp.array([50.0, 100.0]), (6, 1)))
    assert out.shape == (6, 2)
    assert len(np.unique(np.asarray(out), axis=0)) > 3
    np.testing.assert_array_equal(out, np.round(out))


def test_observes_prey_or_both():
    prey, states = LotkaVolterra(noise_sd=0.0).simulate(seed=1, length=6, return_states=True)
    both = LotkaVolterra(noise_sd=0.0, observe="both").simulate(seed=1, length=6)
    np.testing.assert_array_equal(both, states)
    np.testing.assert_array_equal(prey[:, 0], states[:, 1])
    noisy = LotkaVolterra().simulate(seed=1, length=2000, theta={"rho3": 0.0, "rho4": 0.0})
    after = noisy[100:, 0]  # the prey are eaten: what is left is noise
    assert abs(after.std() - 5) < 4.5 * 5 / np.sqrt(2 * len(after))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"observe": "predators"}, "'prey' or 'both'"),
        ({"dt": 0.0}, "dt is 0.0"),
        ({"event_cap": 0}, "event_cap is 0"),
        ({"rho1": -0.1}, "rho1 = -0.1"),
        ({"start": (-1, 5)}, "start is"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_options(arguments, message):
    with pytest.raises(ValueError, match=message):
        LotkaVolterra(**arguments)
