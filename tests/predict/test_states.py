from functools import cache, partial

import jax
import jax.numpy as jnp
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl import ExactMCMC, Result
from tsnl.likelihood import kalman_smoother
from tsnl.models import LinearGaussian, LotkaVolterra
from tsnl.predict.draws import without_failed
from tsnl.predict.states import ParticleStates, States, columns, draw_states, state_labels
from tsnl.problem import Problem
from tsnl.problem.draws import thin

mpl.use("Agg")
MODEL = LinearGaussian()
PRIOR = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
SERIES = MODEL.simulate(seed=1, length=20)


@cache
def exact():
    """A result with draws about where the posterior is."""
    draws = {"Q": np.random.default_rng(0).lognormal(-1.5, 0.5, size=(2, 100))}
    facts = {"log_density": np.zeros((2, 100)), "cost": 0, "status": "", "lag": None, "history": []}
    problem = Problem.of(MODEL, PRIOR, SERIES)
    return Result(draws, **facts, arrays={}, posterior=None, problem=problem, method=ExactMCMC(), seed=0)


def test_bands_carry_the_uncertainty_of_both():
    """The law of total variance over the draws of theta, with the exact smoother at each."""
    states = exact().states("smooth", seed=0, num_draws=1000)
    assert states.draws.shape == (1000, 20, 1)
    assert (states.labels, states.kind) == (("x[0]",), "smooth")
    each = [kalman_smoother(MODEL, {"Q": q}, SERIES) for q in exact().draws["Q"].ravel()]
    means = np.stack([m.means[:, 0] for m in each])
    variance = np.mean([m.covariances[:, 0, 0] for m in each], axis=0) + means.var(axis=0)
    sd = np.sqrt(variance)
    assert (np.abs(states.mean()[:, 0] - means.mean(axis=0)) < 4.5 * sd / np.sqrt(1000)).all()
    ratio = states.draws[:, :, 0].var(axis=0) / variance
    assert (np.abs(ratio - 1) < 0.35).all()  # heavier tails than a normal's
    assert abs(ratio.mean() - 1) < 0.1


def test_a_draw_depends_on_its_number_alone():
    theta = thin(exact().draws, 70)
    run = partial(draw_states, problem=exact().problem, kind="smooth", num_particles=1)
    all_, other = (run(jax.random.key(i), theta=theta).draws for i in (3, 4))
    few = run(jax.random.key(3), theta={"Q": theta["Q"][:9]}).draws
    np.testing.assert_array_equal(few, all_[:9])
    assert not np.array_equal(few, other[:9])


def test_particles_agree_with_the_exact_states():
    """The same posterior draws, the linear model filtered by particles as if it were any other."""
    theta = thin(exact().draws, 600)
    law = ParticleStates(MODEL, jnp.asarray(SERIES), None, 200, "smooth")
    run = jax.jit(jax.vmap(law))
    keys = jax.random.split(jax.random.key(0), 600)
    draws, alive = run(keys, {"Q": jnp.asarray(theta["Q"], dtype=float)})
    assert alive.all()
    states = exact().states("smooth", seed=1, num_draws=600)
    found = np.asarray(draws, dtype=float)
    sd = states.draws.std(axis=0)
    assert (np.abs(found.mean(axis=0) - states.mean()) < (4.5 * np.sqrt(2 / 600) + 0.05) * sd).all()
    assert abs(np.mean(found.std(axis=0) / sd) - 1) < 0.1


def test_the_unobserved_predators_are_found():
    model = LotkaVolterra(dt=0.2)
    series, truth = model.simulate(seed=0, length=15, return_states=True)
    prior = tsnl.Prior(rho3=dist.LogNormal(0.0, 0.1))
    rho3 = np.random.default_rng(0).lognormal(0.0, 0.02, size=40)
    problem = Problem.of(model, prior, series)
    states = draw_states(jax.random.key(0), problem, {"rho3": rho3}, "smooth", 300)
    assert states.labels == ("predators", "prey")
    np.testing.assert_array_equal(states.draws, np.round(states.draws))
    off = np.abs(states["predators"].mean(axis=0) - truth[:, 0])
    assert (off < 5 * states["predators"].std(axis=0) + 3).all()
    figure = states.plot(truth)
    assert [axes.get_ylabel() for axes in figure.axes] == ["predators", "prey"]
    plt.close("all")


class Trend(tsnl.StateSpaceModel):
    """A state that is a tree."""

    sd: float = 0.1

    def sample_initial(self, key, theta):
        return {"level": jnp.zeros(()), "slope": jnp.ones((2,)), "count": jnp.zeros((), jnp.int32)}

    def sample_transition(self, key, state, theta, t, u):
        level = state["level"] + state["slope"][0] + 0.1 * jax.random.normal(key)
        return {"level": level, "slope": state["slope"], "count": state["count"] + 1}

    def sample_observation(self, key, state, theta, t, u):
        return state["level"] + theta["sd"] * jax.random.normal(key)


class SeenTrend(Trend):
    def log_observation(self, y, state, theta, t, u):
        return jax.scipy.stats.norm.logpdf(y, state["level"], theta["sd"])


TREND = tsnl.Prior(sd=dist.LogNormal(-2.0, 0.1))


def test_a_tree_becomes_columns():
    series, truth = SeenTrend().simulate(seed=0, length=8, return_states=True)
    problem = Problem.of(SeenTrend(), TREND, series)
    states = draw_states(jax.random.key(0), problem, {"sd": np.full(30, 0.1)}, "filter", 100)
    assert states.labels == ("count", "level", "slope[0]", "slope[1]")
    assert states.draws.shape == (30, 8, 4)
    np.testing.assert_array_equal(states["count"], np.tile(np.arange(1, 9), (30, 1)))
    np.testing.assert_array_equal(states["slope[1]"], 1.0)
    assert (np.abs(states["level"].mean(axis=0) - truth["level"]) < 0.3).all()
    assert columns(truth, 1).shape == (8, 4)
    with pytest.raises(KeyError, match="There is no state 'x'; there are"):
        states["x"]


def test_labels():
    assert state_labels(LinearGaussian(A=np.eye(2))) == ("x[0]", "x[1]")
    assert state_labels(LotkaVolterra()) == ("predators", "prey")


def test_thinning_is_even_over_the_chains():
    draws = {"a": np.arange(12.0).reshape(3, 4)}
    np.testing.assert_array_equal(thin(draws, 6)["a"], [1, 3, 5, 7, 9, 11])
    np.testing.assert_array_equal(np.bincount(thin(draws, 24)["a"].astype(int)), 2)
    with pytest.raises(ValueError, match="num_draws is 0"):
        thin(draws, 0)


def test_failed_draws_are_left_out_aloud():
    alive = np.array([True, False, True])
    with pytest.warns(UserWarning, match=r"1 of 3 filters are lost: add some. They are left out."):
        kept = without_failed(np.arange(3.0), alive, "filters are lost", "add some.")
    np.testing.assert_array_equal(kept, [0.0, 2.0])
    with pytest.raises(ValueError, match="3 of 3 filters are lost"):
        without_failed(np.arange(3.0), np.zeros(3, bool), "filters are lost", "add some.")


def test_collapsed_filters_are_an_error():
    problem = Problem.of(SeenTrend(), TREND, np.append(1e30, np.arange(7.0)))
    with pytest.raises(ValueError, match="30 of 30 particle filters lost all their particles"):
        draw_states(jax.random.key(0), problem, {"sd": np.full(30, 0.1)}, "filter", 100)


def test_saved_and_loaded(tmp_path):
    states = exact().states("smooth", seed=0, num_draws=20)
    states.save(tmp_path / "states.npz")
    again = States.load(tmp_path / "states.npz")
    np.testing.assert_array_equal(again.draws, states.draws)
    assert (again.labels, again.kind) == (states.labels, states.kind)


@pytest.mark.parametrize("dark", [False, True])
def test_plot(dark, tmp_path):
    states = exact().states("smooth", seed=0, num_draws=20)
    assert states.quantiles([0.1, 0.9]).shape == (2, 20, 1)
    figure = states.plot(path=tmp_path / "states.png", dark=dark)
    assert (tmp_path / "states.png").stat().st_size > 5000
    assert len(figure.axes[0].lines) == 1
    with pytest.raises(ValueError, match=r"truth has shape \(3, 1\), expected \(20, 1\)"):
        states.plot(np.zeros((3, 1)))
    plt.close("all")


@pytest.mark.usefixtures("unchecked")
def test_errors():
    problem = Problem.of(Trend(), TREND, Trend().simulate(seed=0, length=5))
    theta = {"sd": np.full(2, 0.1)}
    with pytest.raises(TypeError, match="Trend has no log_observation"):
        draw_states(jax.random.key(0), problem, theta, "smooth", 10)
    with pytest.raises(ValueError, match="kind is 'guess', expected 'filter' or 'smooth'"):
        draw_states(jax.random.key(0), problem, theta, "guess", 10)
    seen = Problem.of(SeenTrend(), TREND, problem.series)
    with pytest.raises(ValueError, match="num_particles is 0"):
        draw_states(jax.random.key(0), seen, theta, "smooth", 0)
