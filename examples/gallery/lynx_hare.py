# ruff: noqa: D102 - the laws are documented by tsnl.StateSpaceModel
"""Hudson Bay lynx and hare: predator and prey with noise."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

import tsnl
from examples.gallery.analysis import Analysis, read
from examples.gallery.laws import log_normal


class PredatorPrey(tsnl.StateSpaceModel):
    """Lotka and Volterra's equations with noise, for the logarithms of hares and lynx."""

    growth: float = 0.5  # of the hares, a year
    caught: float = 0.03  # of the hares, a year and thousand lynx
    death: float = 0.8  # of the lynx, a year
    fed: float = 0.03  # lynx, a year and thousand hares
    noise: float = 0.2  # of a year's growth
    error: float = 0.2  # of the logarithm of a count of pelts
    steps: int = eqx.field(static=True, default=10)  # a year

    @property
    def state_labels(self):
        return ("log hares", "log lynx")

    def sample_initial(self, key, theta):
        return jnp.log(20.0) + jax.random.normal(key, (2,))

    def sample_transition(self, key, state, theta, t, u):
        dt = 1 / self.steps
        for e in jax.random.normal(key, (self.steps, 2)):
            hares, lynx = jnp.exp(state)
            rates = jnp.stack(
                [theta["growth"] - theta["caught"] * lynx, theta["fed"] * hares - theta["death"]]
            )
            state = jnp.clip(state + dt * rates + theta["noise"] * dt**0.5 * e, -5, 8)
        return state

    def sample_observation(self, key, state, theta, t, u):
        return jnp.exp(state + theta["error"] * jax.random.normal(key, (2,)))

    def log_observation(self, y, state, theta, t, u):
        return jnp.sum(log_normal(jnp.log(y), state, theta["error"]) - jnp.log(y))


PRIOR = tsnl.Prior(
    growth=dist.LogNormal(0.0, 0.5),
    caught=dist.LogNormal(np.log(0.05), 0.7),
    death=dist.LogNormal(0.0, 0.5),
    fed=dist.LogNormal(np.log(0.05), 0.7),
    noise=dist.LogNormal(np.log(0.2), 0.5),
    error=dist.LogNormal(np.log(0.2), 0.5),
)

ANALYSIS = Analysis(
    name="lynx_hare",
    title="Lynx and hare in the Hudson Bay, 1900 to 1920",
    model=PredatorPrey(),
    prior=PRIOR,
    data=read("lynx_hare.csv", "pelts (thousands)", log=True),
    held_out=4,
    budget=500,
    rival=tsnl.PMMH(),
    period=10,
    period_words="the year ten years before",
)
