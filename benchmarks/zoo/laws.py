"""Pieces that several laws of the zoo share."""

import jax
import jax.numpy as jnp

MAX_LOG_RATE = 14.0  # counts stay below about a million, where they are exact in 32 bit
TERMS = 30  # of an inverted binomial of mean below ten, which is larger once in ten million draws


def stationary(key, phi, sd):
    """A draw of a stationary AR(1) around zero; near a unit root it is kept from running away."""
    return sd / jnp.sqrt(jnp.maximum(1 - phi**2, 1e-2)) * jax.random.normal(key)


def poisson(key, log_rate):
    return jax.random.poisson(key, jnp.exp(jnp.minimum(log_rate, MAX_LOG_RATE)))


def binomial(key, n, p):
    """By inversion where its mean is below ten, by its rounded normal approximation above.

    Many times faster than `jax.random.binomial`, which loops until the slowest of a batch is done.
    """
    key_small, key_large = jax.random.split(key)
    mean, u = n * p, jax.random.uniform(key_small)
    mass = below = jnp.exp(n * jnp.log1p(-p))
    small = jnp.zeros_like(mean)
    for k in range(TERMS):
        small += u > below
        mass *= (n - k) / (k + 1) * p / (1 - p)
        below += mass
    large = jnp.round(mean + jnp.sqrt(mean * (1 - p)) * jax.random.normal(key_large))
    return jnp.clip(jnp.where(mean < 10, small, large), 0, n)


def log_poisson(y, log_rate):
    log_rate = jnp.minimum(log_rate, MAX_LOG_RATE)
    return y * log_rate - jnp.exp(log_rate) - jax.scipy.special.gammaln(y + 1)


def log_normal(y, mean, sd):
    return jax.scipy.stats.norm.logpdf(y, mean, sd)
