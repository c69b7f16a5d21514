# ruff: noqa: D102 - the laws are documented by tsnl.StateSpaceModel
"""Measles in Consett, 1948: an epidemic of which the start and the reporting are unknown."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

import tsnl
from examples.gallery.analysis import Analysis, read
from examples.gallery.laws import binomial, leaves


class Measles(tsnl.StateSpaceModel):
    """Susceptible, exposed, infectious, recovered in steps of a day; some new cases are reported."""

    r0: float = 15.0  # people that one infects, while all are susceptible
    susceptible: float = 0.08  # share of the town at the start
    start: float = 5.0  # exposed at the start
    reported: float = 0.5  # share of the cases
    even: float = 5.0  # how evenly they are reported: the size of a negative binomial
    latent: float = eqx.field(static=True, default=8.0)  # days
    infectious: float = eqx.field(static=True, default=6.0)  # days
    people: float = eqx.field(static=True, default=38_820.0)

    @property
    def state_labels(self):
        return ("susceptible", "exposed", "infectious", "new cases")

    def sample_initial(self, key, theta):
        s = jnp.round(theta["susceptible"] * self.people)
        e = jax.random.poisson(key, theta["start"])
        return jnp.stack([s, e, 0.0, 0.0])

    def sample_transition(self, key, state, theta, t, u):
        def day(now, key):
            s, e, i, cases = now
            keys = jax.random.split(key, 3)
            force = theta["r0"] / self.infectious * i / self.people
            infected = binomial(keys[0], s, leaves(force, 1))
            ill = binomial(keys[1], e, leaves(1 / self.latent, 1))
            well = binomial(keys[2], i, leaves(1 / self.infectious, 1))
            return jnp.stack([s - infected, e + infected - ill, i + ill - well, cases + ill]), None

        return jax.lax.scan(day, state.at[3].set(0.0), jax.random.split(key, 7))[0]

    def sample_observation(self, key, state, theta, t, u):
        key_week, key_count = jax.random.split(key)
        week = jax.random.gamma(key_week, theta["even"]) / theta["even"]
        return jax.random.poisson(key_count, week * (theta["reported"] * state[3] + 0.2))

    def log_observation(self, y, state, theta, t, u):
        mean, k = theta["reported"] * state[3] + 0.2, theta["even"]
        ways = jax.scipy.special.gammaln(y + k) - jax.scipy.special.gammaln(k)
        ways -= jax.scipy.special.gammaln(y + 1)
        return ways + k * jnp.log(k / (k + mean)) + y * jnp.log(mean / (k + mean))


PRIOR = tsnl.Prior(
    r0=dist.LogNormal(np.log(15), 0.4),
    susceptible=dist.Beta(4, 40),
    start=dist.LogNormal(np.log(5), 1.0),
    reported=dist.Beta(4, 4),
    even=dist.LogNormal(np.log(5), 0.7),
)

ANALYSIS = Analysis(
    name="measles",
    title="Measles in Consett, 1948: unknown start, under-reporting",
    model=Measles(),
    prior=PRIOR,
    data=read("measles.csv", "cases reported in a week", log=True, rows=35),
    held_out=10,
    budget=800,
    rival=tsnl.PMMH(),
)
