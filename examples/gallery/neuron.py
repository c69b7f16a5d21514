# ruff: noqa: D102 - the laws are documented by tsnl.StateSpaceModel
"""A neuron's voltage: FitzHugh and Nagumo's equations with noise, on a simulated recording."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

import tsnl
from examples.gallery.analysis import Analysis, read
from examples.gallery.laws import log_normal


class Neuron(tsnl.StateSpaceModel):
    """The voltage v is fast, the recovery w slow and noisy; only the voltage is recorded."""

    gamma: float = 1.5  # how strongly the voltage drives the recovery
    beta: float = 0.5  # current
    noise: float = 0.3  # of the recovery
    error: float = 0.15  # of the recording
    dt: float = eqx.field(static=True, default=0.05)
    steps: int = eqx.field(static=True, default=5)  # between two readings

    @property
    def state_labels(self):
        return ("voltage", "recovery")

    def sample_initial(self, key, theta):
        return jnp.array([-0.5, 0.0])

    def sample_transition(self, key, state, theta, t, u):
        v, w = state
        for e in jax.random.normal(key, (self.steps,)):
            dv = (v - v**3 - w) / 0.3
            dw = theta["gamma"] * v - w + theta["beta"]
            v = jnp.clip(v + self.dt * dv, -3, 3)
            w = w + self.dt * dw + theta["noise"] * self.dt**0.5 * e
        return jnp.stack([v, w])

    def sample_observation(self, key, state, theta, t, u):
        return state[0] + theta["error"] * jax.random.normal(key)

    def log_observation(self, y, state, theta, t, u):
        return log_normal(y, state[0], theta["error"])


PRIOR = tsnl.Prior(
    gamma=dist.LogNormal(np.log(1.5), 0.5),
    beta=dist.Normal(0.5, 0.5),
    noise=dist.LogNormal(np.log(0.3), 0.7),
    error=dist.LogNormal(np.log(0.2), 0.7),
)
TRUTH = {"gamma": 1.5, "beta": 0.5, "noise": 0.3, "error": 0.15}

# Neuron().simulate(seed=11, length=170, theta=TRUTH, return_states=True): what was recorded, and the
# states behind it, which no analysis of a real neuron would know.
FILE = read("neuron.csv", "voltage")

ANALYSIS = Analysis(
    name="neuron",
    title="A noisy neuron, seen through its voltage",
    model=Neuron(),
    prior=PRIOR,
    data=replace(FILE, rows=FILE.rows[:, :1], columns=FILE.columns[:1]),
    held_out=20,
    budget=800,
    rival=tsnl.PMMH(),
    truth=TRUTH,
    true_states=FILE.rows[:-20, 1:],
)
