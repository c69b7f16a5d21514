# ruff: noqa: D102 - the laws are documented by tsnl.StateSpaceModel
"""Noise: heavy tails, outliers, leverage, shares between zero and one, regimes of an autoregression."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

import tsnl
from benchmarks.zoo.entry import Entry
from benchmarks.zoo.laws import log_normal, stationary

EDGE = 1e-5  # shares are reported no closer than this to zero and one


class StudentAR(tsnl.StateSpaceModel):
    """A latent AR(1) seen through Student-t noise: y_t = x_t + s e_t, e_t of nu degrees of freedom."""

    phi: float = 0.9
    q: float = 0.3
    s: float = 0.3
    nu: float = 2.5

    def sample_initial(self, key, theta):
        return stationary(key, theta["phi"], theta["q"])

    def sample_transition(self, key, state, theta, t, u):
        return theta["phi"] * state + theta["q"] * jax.random.normal(key)

    def sample_observation(self, key, state, theta, t, u):
        return state + theta["s"] * jax.random.t(key, theta["nu"])

    def log_observation(self, y, state, theta, t, u):
        return jax.scipy.stats.t.logpdf(y, theta["nu"], state, theta["s"])


class Outliers(tsnl.StateSpaceModel):
    """A random walk whose readings are wrong with probability eps: ten times the noise."""

    q: float = 0.3
    s: float = 0.4
    eps: float = 0.1
    factor: float = eqx.field(static=True, default=10.0)

    def sample_initial(self, key, theta):
        return jax.random.normal(key)

    def sample_transition(self, key, state, theta, t, u):
        return state + theta["q"] * jax.random.normal(key)

    def sample_observation(self, key, state, theta, t, u):
        key_wrong, key_noise = jax.random.split(key)
        scale = jnp.where(jax.random.bernoulli(key_wrong, theta["eps"]), self.factor, 1.0)
        return state + scale * theta["s"] * jax.random.normal(key_noise)

    def log_observation(self, y, state, theta, t, u):
        good = jnp.log1p(-theta["eps"]) + log_normal(y, state, theta["s"])
        return jnp.logaddexp(
            good, jnp.log(theta["eps"]) + log_normal(y, state, self.factor * theta["s"])
        )


class Leverage(tsnl.StateSpaceModel):
    """Log-volatility h_t whose next shock v_t is correlated with the return: y_t = exp(h_t / 2) e_t.

    The state is (h_t, v_t), h_{t+1} = mu + phi (h_t - mu) + sigma v_t, corr(e_t, v_t) = rho.
    """

    mu: float = 0.0
    phi: float = 0.95
    sigma: float = 0.3
    rho: float = -0.6

    def sample_initial(self, key, theta):
        key_h, key_v = jax.random.split(key)
        h = theta["mu"] + stationary(key_h, theta["phi"], theta["sigma"])
        return jnp.stack([h, jax.random.normal(key_v)])

    def sample_transition(self, key, state, theta, t, u):
        h = theta["mu"] + theta["phi"] * (state[0] - theta["mu"]) + theta["sigma"] * state[1]
        return jnp.stack([h, jax.random.normal(key)])

    def sample_observation(self, key, state, theta, t, u):
        noise = theta["rho"] * state[1] + jnp.sqrt(1 - theta["rho"] ** 2) * jax.random.normal(key)
        return jnp.exp(state[0] / 2) * noise

    def log_observation(self, y, state, theta, t, u):
        scale = jnp.exp(state[0] / 2)
        sd = scale * jnp.sqrt(1 - theta["rho"] ** 2)
        return log_normal(y, scale * theta["rho"] * state[1], sd)


class Shares(tsnl.StateSpaceModel):
    """Shares in (0, 1) around a latent AR(1): y_t ~ Beta(m k, (1 - m) k), m = sigmoid(mu + x_t)."""

    mu: float = -1.0
    phi: float = 0.85
    sigma: float = 0.4
    k: float = 20.0

    def sample_initial(self, key, theta):
        return stationary(key, theta["phi"], theta["sigma"])

    def sample_transition(self, key, state, theta, t, u):
        return theta["phi"] * state + theta["sigma"] * jax.random.normal(key)

    def sample_observation(self, key, state, theta, t, u):
        return jnp.clip(jax.random.beta(key, *self._shape(state, theta)), EDGE, 1 - EDGE)

    def log_observation(self, y, state, theta, t, u):
        return jax.scipy.stats.beta.logpdf(y, *self._shape(state, theta))

    def _shape(self, state, theta):
        mean = jnp.clip(jax.nn.sigmoid(theta["mu"] + state), 1e-4, 1 - 1e-4)
        return mean * theta["k"], (1 - mean) * theta["k"]


class Switching(tsnl.StateSpaceModel):
    """An AR(1) around a low or a high level, which a Markov chain chooses, seen with noise."""

    low: float = -1.0
    gap: float = 3.0
    phi: float = 0.5
    q: float = 0.4
    stay: float = 0.94
    s: float = eqx.field(static=True, default=0.3)

    def sample_initial(self, key, theta):
        return jnp.stack([0.0, theta["low"]])  # regime, x

    def sample_transition(self, key, state, theta, t, u):
        key_regime, key_noise = jax.random.split(key)
        other = jax.random.bernoulli(key_regime, 1 - theta["stay"])
        regime = jnp.where(other, 1 - state[0], state[0])
        level = theta["low"] + regime * theta["gap"]
        x = level + theta["phi"] * (state[1] - level) + theta["q"] * jax.random.normal(key_noise)
        return jnp.stack([regime, x])

    def sample_observation(self, key, state, theta, t, u):
        return state[1] + self.s * jax.random.normal(key)

    def log_observation(self, y, state, theta, t, u):
        return log_normal(y, state[1], self.s)


def scale(centre, sd=0.7):
    """A prior for what is positive."""
    return dist.LogNormal(np.log(centre), sd)


ENTRIES = (
    Entry(
        "student_ar",
        "tune",
        "heavy tails",
        "Kitagawa (1987), JASA 82; Durbin and Koopman (2000), JRSS B 62",
        StudentAR(),
        tsnl.Prior(phi=dist.Uniform(0, 1), q=scale(0.3), s=scale(0.3), nu=scale(4.0, 0.6)),
        length=150,
        num_particles=200,
    ),
    Entry(
        "outliers",
        "report",
        "outliers, unit root",
        "West and Harrison (1997), Bayesian Forecasting and Dynamic Models",
        Outliers(),
        tsnl.Prior(q=scale(0.3), s=scale(0.3), eps=dist.Beta(1, 9)),
        length=120,
        num_particles=250,
    ),
    Entry(
        "leverage",
        "report",
        "leverage",
        "Harvey and Shephard (1996), JBES 14; Omori et al. (2007), J. Econometrics 140",
        Leverage(),
        tsnl.Prior(
            mu=dist.Normal(0, 1), phi=dist.Beta(20, 1.5), sigma=scale(0.25, 0.5), rho=dist.Uniform(-1, 1)
        ),
        length=200,
        num_particles=300,
    ),
    Entry(
        "shares",
        "report",
        "bounded observation",
        "da-Silva, Migon and Correia (2011), CSDA 55",
        Shares(),
        tsnl.Prior(mu=dist.Normal(0, 1.5), phi=dist.Uniform(0, 1), sigma=scale(0.4), k=scale(20.0, 0.7)),
        length=150,
        num_particles=200,
    ),
    Entry(
        "switching",
        "report",
        "regime switching",
        "Hamilton (1989), Econometrica 57; Kim (1994), J. Econometrics 60",
        Switching(),
        tsnl.Prior(
            low=dist.Normal(0, 2),
            gap=scale(2.0, 0.7),
            phi=dist.Uniform(0, 1),
            q=scale(0.4),
            stay=dist.Beta(9, 1),
        ),
        length=120,
        num_particles=300,
    ),
)
