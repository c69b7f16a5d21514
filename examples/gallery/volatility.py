# ruff: noqa: D102 - the laws are documented by tsnl.StateSpaceModel
"""Returns of the S&P 500: volatility that wanders, without and with leverage."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

import tsnl
from examples.gallery.analysis import SEED, Analysis, read
from examples.gallery.laws import log_normal


class Volatility(tsnl.StateSpaceModel):
    """Log-variance h_t of a day's return, and the shock v_t that moves it on the next day.

    y_t = exp(h_t / 2) e_t, h_{t+1} = mu + phi (h_t - mu) + sigma v_t, corr(e_t, v_t) = leverage.
    """

    mu: float = 0.0  # mean log-variance
    phi: float = 0.95  # what is left of it a day later
    sigma: float = 0.3
    leverage: float = 0.0

    @property
    def state_labels(self):
        return ("log-variance", "shock")

    def sample_initial(self, key, theta):
        sd = theta["sigma"] / jnp.sqrt(1 - jnp.minimum(theta["phi"], 0.999) ** 2)
        h, v = jax.random.normal(key, (2,))
        return jnp.stack([theta["mu"] + sd * h, v])

    def sample_transition(self, key, state, theta, t, u):
        h, v = state
        h = theta["mu"] + theta["phi"] * (h - theta["mu"]) + theta["sigma"] * v
        return jnp.stack([h, jax.random.normal(key)])

    def sample_observation(self, key, state, theta, t, u):
        e = jnp.sqrt(1 - theta["leverage"] ** 2) * jax.random.normal(key)
        return jnp.exp(state[0] / 2) * (theta["leverage"] * state[1] + e)

    def log_observation(self, y, state, theta, t, u):
        scale = jnp.exp(state[0] / 2)
        sd = scale * jnp.sqrt(1 - theta["leverage"] ** 2)
        return log_normal(y, scale * theta["leverage"] * state[1], sd)


PRIOR = tsnl.Prior(
    mu=dist.Normal(0, 1),
    phi=dist.Beta(20, 1.5),
    sigma=dist.LogNormal(np.log(0.25), 0.5),
)

LEVERAGE_PRIOR = tsnl.Prior(
    mu=dist.Normal(0, 1),
    phi=dist.Beta(20, 1.5),
    sigma=dist.LogNormal(np.log(0.25), 0.5),
    leverage=dist.Uniform(-1, 1),
)


def with_leverage(analysis: Analysis, result: tsnl.Result) -> dict[str, Any]:
    """The same with one parameter more, and what the evidence says of it."""
    from examples.gallery.steps import posterior

    given = (analysis.simulator, LEVERAGE_PRIOR, analysis.fitted, result.method)
    other = tsnl.infer(*given, seed=SEED, progress=False)
    found = tsnl.compare_models({"without": result, "with": other}, scores=False, seed=SEED)
    gap, se = found.log_bayes_factor("with", "without")
    draws = other.coordinates()["leverage"]
    return {
        "posterior": posterior(other),
        "negative": float((draws < 0).mean()),
        "log_bayes_factor": gap,
        "se": se,
        "cost": other.cost,
    }


ANALYSIS = Analysis(
    name="volatility",
    title="Returns of the S&P 500: stochastic volatility and leverage",
    model=Volatility(),
    prior=PRIOR,
    data=read("sp500.csv", "return (per cent)"),
    held_out=20,
    budget=500,
    rival=tsnl.PMMH(),
    extra=with_leverage,
)
