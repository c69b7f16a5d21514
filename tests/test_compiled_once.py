"""Public functions are traced and compiled once: other values of the same shapes cost milliseconds."""

from contextlib import contextmanager
from functools import cache, partial

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl.kernel import Mixture
from tsnl.likelihood import kalman_filter, kalman_smoother, particle_filter
from tsnl.likelihood.completion import Completion
from tsnl.problem import Problem
from tsnl.sampling import MCMC, sample
from tsnl.sampling.smc import Cloud, rejuvenate
from tsnl.simulation import simulate

EVENTS = ("/jax/core/compile/jaxpr_trace_duration", "/jax/core/compile/backend_compile_duration")
LINEAR = tsnl.models.LinearGaussian(A=0.9, H=1.0, Q=0.1, R=0.1)
PRIOR = tsnl.Prior(Q=dist.LogNormal(-1.2, 1.0), A=dist.Uniform(0.0, 1.0))
SHARED = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))  # of the shapes that other tests learn with
QUICK = MCMC(num_chains=2, num_warmup=10, num_draws=10, max_extensions=0)
METHODS = {
    "TSNL": tsnl.TSNL(
        states=False,
        rounds=1,
        simulations=16,
        head=Mixture(num_components=2, width=4, depth=1),
        training=tsnl.Training(num_members=2, min_steps=60, max_steps=60),
        sampler=MCMC(num_chains=4, num_warmup=100, num_draws=150, max_extensions=0),
    ),
    "PMMH": tsnl.PMMH(num_steps=20, num_warmup=20, num_chains=2, num_particles=8),
    "SMCABC": tsnl.SMCABC(particles=50, max_generations=2),
    "MCMCABC": tsnl.MCMCABC(num_chains=8, pilot=100, pilot_share=0.2, num_warmup=10, num_draws=10),
    "RejectionABC": tsnl.RejectionABC(draws=10, fraction=0.1),
    "ExactMCMC": tsnl.ExactMCMC(QUICK),
}


class Driven(tsnl.StateSpaceModel):
    """A random walk with a known drift u_t; its parameters are plain numbers."""

    scale: float = 0.5
    noise: float = 0.1

    def sample_initial(self, key, theta):
        return theta["scale"] * jax.random.normal(key)

    def sample_transition(self, key, state, theta, t, u):
        return state + u[0] + theta["scale"] * jax.random.normal(key)

    def sample_observation(self, key, state, theta, t, u):
        return state + theta["noise"] * jax.random.normal(key)

    def log_observation(self, y, state, theta, t, u):
        return dist.Normal(state, theta["noise"]).log_prob(y)


def key(i):
    return jax.random.key(i)


def theta(i):
    return {"Q": 0.1 + 0.01 * i, "A": 0.8 + 0.01 * i}


def batch(i):
    return {"Q": np.linspace(0.1, 0.2, 5) + i}


def series(i, length=12):
    return np.random.default_rng(i).normal(size=length)


def drift(i):
    return np.random.default_rng(10 + i).normal(size=(12, 1))


def square(z):
    return -0.5 * (z**2).sum()


def cloud(i):
    return Cloud.even(np.random.default_rng(i).normal(size=(64, 2)).astype(np.float32))


def infer(name, i):
    asked = (SHARED, series(i, 20)) if name == "TSNL" else (PRIOR, series(i))
    return tsnl.infer(LINEAR, *asked, METHODS[name], seed=i)


@cache
def learned():
    return infer("TSNL", 0)


POSTERIOR = tsnl.ExactMCMC(QUICK).exact_posterior(Problem.of(LINEAR, PRIOR, series(0)))
CALLS = {
    "kalman_filter": lambda i: kalman_filter(LINEAR, theta(i), series(i)),
    "kalman_smoother": lambda i: kalman_smoother(LINEAR, theta(i), series(i)),
    "particle_filter": lambda i: particle_filter(key(i), LINEAR, theta(i), series(i), 8),
    "particle_filter, another share": lambda i: particle_filter(
        key(i), LINEAR, theta(i), series(i), 8, resample_below=0.4 + 0.1 * i
    ),
    "particle_filter, inputs": lambda i: particle_filter(
        key(i), Driven(), {"scale": 0.3 + i}, series(i), 8, inputs=drift(i)
    ),
    "model.simulate": lambda i: LINEAR.simulate(seed=i, length=12, theta=theta(i)),
    "model.simulate, inputs": lambda i: Driven().simulate(
        seed=i, length=12, theta={"scale": 0.3 + i}, inputs=drift(i)
    ),
    "model.simulate, another model": lambda i: tsnl.models.LinearGaussian(Q=0.1 + i).simulate(
        seed=i, length=12
    ),
    "simulate": lambda i: simulate(key(i), LINEAR, batch(i), 12, first=i),
    "simulate, inputs": lambda i: simulate(
        key(i), Driven(), {"scale": np.full(3, 0.3 + i)}, 12, inputs=drift(i)
    ),
    "Prior.sample": lambda i: PRIOR.sample(key(i), 5),
    "Prior.sample_unconstrained": lambda i: PRIOR.sample_unconstrained(key(i), 5 + i),
    "Prior.constrain_all": lambda i: PRIOR.constrain_all(np.full((5 + i, 2), 0.1 * i)),
    "Prior.log_prob": lambda i: PRIOR.log_prob(theta(i)),
    "posterior.log_prob": lambda i: POSTERIOR.log_prob(theta(i)),
    "posterior.sample": lambda i: POSTERIOR.sample(seed=i, options=QUICK),
    "sample": lambda i: sample(key(i), square, cloud(i).z, np.eye(2, dtype=np.float32), QUICK),
    "rejuvenate": lambda i: rejuvenate(key(i), square, cloud(i)),
    "Cloud.resample": lambda i: cloud(i).resample(key(i)),
    "learned posterior.log_prob": lambda i: learned().posterior.log_prob({"Q": 0.1 + i}),
    "posterior.condition": lambda i: learned().posterior.condition(series(i)).log_prob({"Q": 0.1}),
    "forecast": lambda i: learned().forecast(horizon=5, seed=i),
    **{f"infer by {name}": partial(infer, name) for name in METHODS},
    "Completion": lambda i: Completion.of(cloud(i).z, cloud(i).z[:, 0] > 0),
}


@contextmanager
def counted():
    """The traces and compilations while it is open."""
    found = []

    def listen(event, duration, **_):
        if event in EVENTS:
            found.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield found
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


@pytest.mark.parametrize("name", CALLS)
def test_other_values_are_not_compiled_again(name):
    jax.block_until_ready(CALLS[name](0))
    with counted() as found:
        jax.block_until_ready(CALLS[name](1))
        jax.block_until_ready(CALLS[name](2))
    assert found == []


def test_another_shape_is_counted():
    kalman_filter(LINEAR, theta(0), series(0))
    with counted() as found:
        kalman_filter(LINEAR, theta(0), series(0)[:7])
    assert found
