# ruff: noqa: D102 - the laws are documented by tsnl.StateSpaceModel
"""Nutria in East Anglia: density dependence under a vague prior."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

import tsnl
from examples.gallery.analysis import Analysis, read
from examples.gallery.laws import log_normal


class ThetaLogistic(tsnl.StateSpaceModel):
    """Log-abundance n_t = n_{t-1} + b0 + b1 exp(b2 n_{t-1}) + noise, counted with an error."""

    b0: float = 0.1
    b1: float = -0.1
    b2: float = 1.0
    noise: float = 0.1
    error: float = 0.05

    @property
    def state_labels(self):
        return ("log abundance",)

    def sample_initial(self, key, theta):
        return jax.random.normal(key)

    def sample_transition(self, key, state, theta, t, u):
        change = theta["b0"] + theta["b1"] * jnp.exp(theta["b2"] * state)
        return state + change + theta["noise"] * jax.random.normal(key)

    def sample_observation(self, key, state, theta, t, u):
        return state + theta["error"] * jax.random.normal(key)

    def log_observation(self, y, state, theta, t, u):
        return log_normal(y, state, theta["error"])


PRIOR = tsnl.Prior(
    b0=dist.Normal(0, 1),
    b1=dist.Normal(0, 1),
    b2=dist.Normal(0, 1),
    noise=dist.LogNormal(np.log(0.2), 1.0),
    error=dist.LogNormal(np.log(0.2), 1.0),
)

ANALYSIS = Analysis(
    name="nutria",
    title="Nutria in East Anglia: a vague prior that explodes",
    model=ThetaLogistic(),
    prior=PRIOR,
    data=read("nutria.csv", "log abundance", transform=np.log),
    held_out=12,
    budget=1000,
    rival=tsnl.PMMH(),
    period=12,
    period_words="the same month a year before",
)
