"""The law of a row given its state: the model's own as it is, a learned one close to it."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl.kernel.training import Training
from tsnl.likelihood.observation import KnownObservation, LearnedObservation
from tsnl.methods.sequential.observation import observation_of
from tsnl.methods.sequential.simulated import Simulated, simulate_at
from tsnl.methods.sequential.transition import learn_transition
from tsnl.models import LinearGaussian
from tsnl.problem import Problem


class Seen(LinearGaussian):
    """Inputs move what is seen; the state has an entry that never changes."""

    def sample_initial(self, key, theta):
        return {"x": super().sample_initial(key, theta), "start": jnp.asarray(2.0)}

    def sample_transition(self, key, state, theta, t, u):
        return state | {"x": super().sample_transition(key, state["x"], theta, t, u)}

    def sample_observation(self, key, state, theta, t, u):
        return super().sample_observation(key, state["x"], theta, t, u) + u[0]

    def log_observation(self, y, state, theta, t, u):
        return super().log_observation(y - u[0], state["x"], theta, t, u)


class Unseen(Seen):
    log_observation = None


class Counted(Seen):
    log_observation = None

    def sample_observation(self, key, state, theta, t, u):
        return jax.random.poisson(key, jnp.exp(state["x"] + 1.0)).astype(float)


LENGTH, N = 30, 100
PRIOR = tsnl.Prior(A=dist.Uniform(0.3, 0.99), R=dist.LogNormal(-1.0, 0.5))
INPUTS = np.random.default_rng(3).normal(size=(LENGTH, 1))


def found(model, steps=20):
    """The law of a row, and what it was learned from."""
    series = model.simulate(seed=1, length=LENGTH, inputs=INPUTS)
    problem = Problem.of(model, PRIOR, series, INPUTS)
    z = PRIOR.sample_unconstrained(jax.random.key(0), N)
    none = Simulated.none(problem, N, 4)
    simulated = simulate_at(jax.random.key(1), problem, none, z, True)
    method = tsnl.TSNL(budget=N, training=Training(num_members=2, min_steps=steps, max_steps=steps))
    law = learn_transition(jax.random.key(2), 2, Training(num_members=2, max_steps=300), simulated)
    given = (method.spec(problem, 4), ("none",), method.training, simulated, law)
    return observation_of(jax.random.key(3), model, *given), simulated


@pytest.fixture(scope="module")
def known():
    return found(Seen())


def evaluate(law, model, simulated, i, rows):
    """Of rows at the states and inputs of one path."""
    z = jnp.asarray(simulated.z[i], dtype=float)
    theta = model.complete(PRIOR.constrain(z))
    x = jnp.asarray(simulated.states[i, 1:], dtype=float)
    u = jnp.asarray(INPUTS, dtype=float)

    @jax.jit
    def each(y):
        one = jax.vmap(lambda y, x, u: law(y, x[None], theta, z, jnp.asarray(1), u)[0])
        return one(y, x, u)

    return np.asarray(each(jnp.asarray(rows, dtype=float)), dtype=float)


def test_the_models_own_law_is_taken_as_it_is(known):
    law, simulated = known
    model = Seen()
    assert isinstance(law, KnownObservation)
    rows = simulated.series[0, :, 0]
    theta = model.complete(PRIOR.constrain(simulated.z[0]))
    start, x = simulated.states[0, 1:].T  # leaves in the order of their names
    right = -0.5 * (rows - INPUTS[:, 0] - x) ** 2 / theta["R"] - 0.5 * np.log(2 * np.pi * theta["R"])
    assert (start == 2.0).all()
    np.testing.assert_allclose(evaluate(law, model, simulated, 0, rows), right, atol=1e-3)


@pytest.mark.slow
def test_a_learned_law_is_close_to_the_models_own(known):
    law, simulated = found(Unseen(), steps=800)
    assert isinstance(law, LearnedObservation)
    errors = []
    for i in range(0, N, 5):
        rows = simulated.series[i, :, 0]
        right = evaluate(known[0], Seen(), simulated, i, rows)
        errors.append(evaluate(law, Seen(), simulated, i, rows) - right)
    errors = np.array(errors)
    # 12,000 views leave a few hundredths of a nat a row
    assert abs(errors.mean()) < 0.05
    assert np.sqrt((errors**2).mean()) < 0.25


@pytest.mark.slow
def test_probabilities_of_counts_sum_to_one():
    law, simulated = found(Counted(), steps=100)
    total = sum(
        np.exp(evaluate(law, Counted(), simulated, 0, np.full(LENGTH, float(k)))) for k in range(200)
    )
    np.testing.assert_allclose(total, 1, atol=1e-2)
