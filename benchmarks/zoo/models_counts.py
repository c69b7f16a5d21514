# ruff: noqa: D102 - the laws are documented by tsnl.StateSpaceModel
"""Counts: with a latent autoregression, with too many zeros, in two regimes, chaotic, of an epidemic."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

import tsnl
from benchmarks.zoo.entry import Entry
from benchmarks.zoo.laws import binomial, log_poisson, poisson, stationary


class PoissonAR(tsnl.StateSpaceModel):
    """Counts around a latent AR(1): x_t = phi x_{t-1} + sigma e_t, y_t ~ Poisson(exp(mu + x_t))."""

    mu: float = 1.0
    phi: float = 0.8
    sigma: float = 0.4

    def sample_initial(self, key, theta):
        return stationary(key, theta["phi"], theta["sigma"])

    def sample_transition(self, key, state, theta, t, u):
        return theta["phi"] * state + theta["sigma"] * jax.random.normal(key)

    def sample_observation(self, key, state, theta, t, u):
        return poisson(key, theta["mu"] + state)

    def log_observation(self, y, state, theta, t, u):
        return log_poisson(y, theta["mu"] + state)


class ZeroInflated(PoissonAR):
    """The same, and with probability omega nothing is counted at all."""

    mu: float = 1.2
    phi: float = 0.8
    sigma: float = 0.4
    omega: float = 0.3

    def sample_observation(self, key, state, theta, t, u):
        key_zero, key_count = jax.random.split(key)
        missed = jax.random.bernoulli(key_zero, theta["omega"])
        return jnp.where(missed, 0, poisson(key_count, theta["mu"] + state))

    def log_observation(self, y, state, theta, t, u):
        counted = jnp.log1p(-theta["omega"]) + log_poisson(y, theta["mu"] + state)
        return jnp.where(y == 0, jnp.logaddexp(jnp.log(theta["omega"]), counted), counted)


class PoissonHMM(tsnl.StateSpaceModel):
    """Counts of a calm and a busy regime, each of which stays with a probability of its own."""

    calm: float = 3.0
    more: float = 6.0
    stay_calm: float = 0.93
    stay_busy: float = 0.85

    def sample_initial(self, key, theta):
        return jnp.asarray(0.0)

    def sample_transition(self, key, state, theta, t, u):
        busy = jnp.where(state > 0, theta["stay_busy"], 1 - theta["stay_calm"])
        return jnp.asarray(jax.random.bernoulli(key, busy), dtype=float)

    def sample_observation(self, key, state, theta, t, u):
        return poisson(key, jnp.log(theta["calm"] + state * theta["more"]))

    def log_observation(self, y, state, theta, t, u):
        return log_poisson(y, jnp.log(theta["calm"] + state * theta["more"]))


class Ricker(tsnl.StateSpaceModel):
    """A chaotic population N_t = r N_{t-1} exp(-N_{t-1} + sigma e_t), counted as Poisson(phi N_t)."""

    log_r: float = 3.8
    sigma: float = 0.3
    phi: float = 10.0

    def sample_initial(self, key, theta):
        return jnp.asarray(0.0)  # log N

    def sample_transition(self, key, state, theta, t, u):
        return state + theta["log_r"] - jnp.exp(state) + theta["sigma"] * jax.random.normal(key)

    def sample_observation(self, key, state, theta, t, u):
        return poisson(key, jnp.log(theta["phi"]) + state)

    def log_observation(self, y, state, theta, t, u):
        return log_poisson(y, jnp.log(theta["phi"]) + state)


class SEIR(tsnl.StateSpaceModel):
    """An epidemic in chain-binomial steps of a day; a share rho of the new cases is reported."""

    beta: float = 0.6
    gamma: float = 0.25
    rho: float = 0.4
    latency: float = eqx.field(static=True, default=0.3)
    population: float = eqx.field(static=True, default=1000.0)
    exposed: float = eqx.field(static=True, default=10.0)

    def sample_initial(self, key, theta):
        return jnp.array([self.population - self.exposed, self.exposed, 0.0, 0.0])  # S, E, I, new cases

    def sample_transition(self, key, state, theta, t, u):
        s, e, i, _ = state
        keys = jax.random.split(key, 3)
        force = 1 - jnp.exp(-theta["beta"] * i / self.population)
        infected = binomial(keys[0], s, force)
        cases = binomial(keys[1], e, 1 - jnp.exp(-self.latency))
        recovered = binomial(keys[2], i, 1 - jnp.exp(-theta["gamma"]))
        return jnp.stack([s - infected, e + infected - cases, i + cases - recovered, cases])

    def sample_observation(self, key, state, theta, t, u):
        return poisson(key, self._log_rate(state, theta))

    def log_observation(self, y, state, theta, t, u):
        return log_poisson(y, self._log_rate(state, theta))

    def _log_rate(self, state, theta):
        return jnp.log(theta["rho"] * state[3] + 0.1)  # one report in ten days is of something else


def two_regimes(theta, rows):
    """The exact log-likelihood of `PoissonHMM`: the regime is summed out, forward in time."""
    log_p = jax.vmap(lambda x: PoissonHMM().log_observation(rows[:, 0], x, theta, 1, None))
    stay = jnp.stack([theta["stay_calm"], theta["stay_busy"]])
    move = jnp.diag(stay) + jnp.fliplr(jnp.diag(1 - stay))

    def step(weights, now):
        joint = jnp.log(weights @ move) + now
        top = jax.nn.logsumexp(joint)
        return jnp.exp(joint - top), top

    return jnp.sum(jax.lax.scan(step, jnp.array([1.0, 0.0]), log_p(jnp.array([0.0, 1.0])).T)[1])


ENTRIES = (
    Entry(
        "poisson_ar",
        "tune",
        "counts",
        "Zeger (1988), Biometrika 75; Durbin and Koopman (2000), JRSS B 62",
        PoissonAR(),
        tsnl.Prior(
            mu=dist.Normal(0, 2), phi=dist.Uniform(-1, 1), sigma=dist.LogNormal(np.log(0.3), 0.7)
        ),
        length=100,
        num_particles=150,
    ),
    Entry(
        "poisson_hmm",
        "tune",
        "counts, regimes",
        "Zucchini and MacDonald (2009), Hidden Markov Models for Time Series",
        PoissonHMM(),
        tsnl.Prior(
            calm=dist.LogNormal(np.log(4), 1),
            more=dist.LogNormal(np.log(4), 1),
            stay_calm=dist.Beta(4, 1),
            stay_busy=dist.Beta(4, 1),
        ),
        length=120,
        exact=two_regimes,
    ),
    Entry(
        "zero_inflated",
        "report",
        "zero-inflated counts",
        "Yang, Cavanaugh and Zamba (2015), Statistics in Medicine 34",
        ZeroInflated(),
        tsnl.Prior(
            mu=dist.Normal(0, 2),
            phi=dist.Uniform(-1, 1),
            sigma=dist.LogNormal(np.log(0.3), 0.7),
            omega=dist.Beta(1, 2),
        ),
        length=150,
        num_particles=200,
    ),
    Entry(
        "ricker",
        "report",
        "chaotic map, counts",
        "Wood (2010), Nature 466",
        Ricker(),
        tsnl.Prior(
            log_r=dist.Normal(3.5, 0.7),
            sigma=dist.LogNormal(np.log(0.3), 0.5),
            phi=dist.LogNormal(np.log(8), 0.7),
        ),
        length=60,
        num_particles=400,
    ),
    Entry(
        "seir",
        "report",
        "epidemic wave, counts",
        "Breto, He, Ionides and King (2009), Annals of Applied Statistics 3",
        SEIR(),
        tsnl.Prior(
            beta=dist.LogNormal(np.log(0.5), 0.5),
            gamma=dist.LogNormal(np.log(0.3), 0.5),
            rho=dist.Beta(2, 2),
        ),
        length=60,
        num_particles=150,
    ),
)
