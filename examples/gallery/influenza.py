# ruff: noqa: D102 - the laws are documented by tsnl.StateSpaceModel
"""Influenza in a boarding school, 1978: boys confined to bed."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

import tsnl
from examples.gallery.analysis import Analysis, read
from examples.gallery.laws import binomial, leaves, log_poisson


class BoardingSchool(tsnl.StateSpaceModel):
    """Susceptible, infectious, in bed, recovered: whole boys, who move by chance."""

    beta: float = 3.0  # boys that one infectious boy infects a day, while all are susceptible
    infectious: float = 1.0  # days, until he goes to bed
    bed: float = 2.5  # days
    boys: float = eqx.field(static=True, default=763.0)
    steps: int = eqx.field(static=True, default=4)  # a day

    @property
    def state_labels(self):
        return ("susceptible", "infectious", "in bed")

    def sample_initial(self, key, theta):
        first = 1.0 + jax.random.poisson(key, 2.0)
        return jnp.stack([self.boys - first, first, 0.0])

    def sample_transition(self, key, state, theta, t, u):
        s, i, b = state
        days = 1 / self.steps
        for one in jax.random.split(key, self.steps):
            keys = jax.random.split(one, 3)
            infected = binomial(keys[0], s, leaves(theta["beta"] * i / self.boys, days))
            to_bed = binomial(keys[1], i, leaves(1 / theta["infectious"], days))
            well = binomial(keys[2], b, leaves(1 / theta["bed"], days))
            s, i, b = s - infected, i + infected - to_bed, b + to_bed - well
        return jnp.stack([s, i, b])

    def sample_observation(self, key, state, theta, t, u):
        return jax.random.poisson(key, state[2] + 0.1)

    def log_observation(self, y, state, theta, t, u):
        return log_poisson(y, state[2] + 0.1)


PRIOR = tsnl.Prior(
    beta=dist.LogNormal(np.log(2), 0.7),
    infectious=dist.LogNormal(np.log(1.5), 0.5),
    bed=dist.LogNormal(np.log(3), 0.5),
)

ANALYSIS = Analysis(
    name="influenza",
    title="Influenza in a boarding school, 1978",
    model=BoardingSchool(),
    prior=PRIOR,
    data=read("influenza.csv", "boys in bed", log=True),
    held_out=4,
    budget=500,
    rival=tsnl.PMMH(),
)
