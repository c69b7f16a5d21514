"""Laws that several models of the gallery share."""

import jax
import jax.numpy as jnp

TERMS = 30  # of an inverted binomial of mean below ten, which is larger once in ten million draws


def binomial(key, n, p):
    """By inversion where its mean is below ten, by its rounded normal approximation above.

    Many times faster than `jax.random.binomial`, which loops until the slowest of a batch is done.
    """
    key_small, key_large = jax.random.split(key)
    mean, k = n * p, jnp.arange(TERMS)
    ratios = (n - k) / (k + 1) * p / (1 - p)  # of one probability to the next; all zero after the n-th
    masses = jnp.exp(n * jnp.log1p(-p)) * jnp.concatenate([jnp.ones(1), jnp.cumprod(ratios)])
    small = jnp.sum(jax.random.uniform(key_small) > jnp.cumsum(masses))
    large = jnp.round(mean + jnp.sqrt(mean * (1 - p)) * jax.random.normal(key_large))
    return jnp.clip(jnp.where(mean < 10, small, large), 0, n)


def leaves(rate, days):
    """The share that leaves a compartment of this rate within some days."""
    return -jnp.expm1(-rate * days)


def log_poisson(y, rate):
    """The log-probability of a count."""
    return y * jnp.log(rate) - rate - jax.scipy.special.gammaln(y + 1)


def log_normal(y, mean, sd):
    """The log-density of N(mean, sd^2)."""
    return jax.scipy.stats.norm.logpdf(y, mean, sd)
