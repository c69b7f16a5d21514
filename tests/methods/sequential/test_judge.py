import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl.kernel import Kernel, KernelSpec, Lags, Mixture, Scaling
from tsnl.kernel.member import fresh_members
from tsnl.kernel.region import Region
from tsnl.likelihood.learned_filter import LearnedFilter
from tsnl.likelihood.observation import KnownObservation
from tsnl.likelihood.transition import Transition
from tsnl.methods.sequential import judge as judges
from tsnl.methods.sequential.filtering import BLOCK, MOST, Runner
from tsnl.methods.sequential.simulated import Simulated, simulate_at
from tsnl.methods.sequential.state import RoundState
from tsnl.models import LinearGaussian
from tsnl.problem import Problem

MODEL = LinearGaussian()
PRIOR = tsnl.Prior(Q=dist.LogNormal(-1.0, 0.5))
SPEC = KernelSpec(Mixture(num_components=1, width=0), (Lags(1),), 1, 0, 1, 2)


@pytest.fixture(scope="module")
def problem():
    return Problem.of(MODEL, PRIOR, MODEL.simulate(seed=1, length=20))


@pytest.fixture(scope="module")
def runner(problem):
    """With a law of the states that was never trained: only its size is asked for."""
    one = jnp.ones(1)
    scaling = Scaling(one, 0 * one, one, 0 * one, one, ("none",))
    members = fresh_members(jax.random.key(0), SPEC)
    kernel = Kernel(members, scaling, Region.unknown(1, SPEC.groups()), SPEC)
    law = Transition(kernel, (-1,), (-1,))
    return Runner.of(problem, LearnedFilter(MODEL, PRIOR, law, KnownObservation(MODEL), 0))


@pytest.mark.parametrize(("variance", "times"), [(0.01, 1), (0.5, 1), (0.6, 2), (1.9, 4), (1e6, 4)])
def test_noise_asks_for_particles_up_to_a_limit(runner, variance, times):
    assert runner.quieter(variance, 1).num_particles == times * runner.num_particles <= MOST


def test_a_noisy_filter_is_judged_with_as_many_particles_as_it_will_have(problem, runner, monkeypatch):
    z = PRIOR.sample_unconstrained(jax.random.key(0), 40)
    state = RoundState(simulate_at(jax.random.key(1), problem, Simulated.none(problem, 40), z, True))
    asked = []

    def twice(key, runner, problem, state, some):
        asked.append(runner.num_particles)
        sd = np.sqrt(2.0 * 640 / runner.num_particles)
        return list(sd * np.random.default_rng(len(asked)).normal(size=(2, BLOCK)))

    monkeypatch.setattr(judges, "_twice", twice)
    monkeypatch.setattr(judges, "_gain", lambda two, state, some: np.mean(two, axis=0))
    assert judges.judge(jax.random.key(2), runner, problem, state).shape == (BLOCK,)
    assert asked[0] == runner.num_particles
    assert asked[1] >= 2 * asked[0]
    assert len(asked) == 2
