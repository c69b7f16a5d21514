"""Pieces that several laws of the zoo share."""

import jax
import jax.numpy as jnp

MAX_LOG_RATE = 14.0  # counts stay below about a million, where they are exact in 32 bit


def stationary(key, phi, sd):
    """A draw of a stationary AR(1) around zero; near a unit root it is kept from running away."""
    return sd / jnp.sqrt(jnp.maximum(1 - phi**2, 1e-2)) * jax.random.normal(key)


def poisson(key, log_rate):
    return jax.random.poisson(key, jnp.exp(jnp.minimum(log_rate, MAX_LOG_RATE)))


def log_poisson(y, log_rate):
    log_rate = jnp.minimum(log_rate, MAX_LOG_RATE)
    return y * log_rate - jnp.exp(log_rate) - jax.scipy.special.gammaln(y + 1)


def log_normal(y, mean, sd):
    return jax.scipy.stats.norm.logpdf(y, mean, sd)
