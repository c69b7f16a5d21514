"""Laws that several models of the gallery share."""

import jax
import jax.numpy as jnp

TERMS = 30  # of an inverted binomial of mean below ten, which is larger once in ten million draws


def binomial(key, n, p):
    """By inversion where its mean is below ten, by its rounded normal approximation above.

    Many times faster than `jax.random.binomial`, which loops until the slowest of a batch is done.
    """
    key_small, key_large = jax.random.split(key)
    mean, draw = n * p, jax.random.uniform(key_small)

    def term(carry, k):
        mass, below, count = carry  # P(k), P(< k), and how many have less below them than was drawn
        below = below + mass
        return (mass * (n - k) / (k + 1) * p / (1 - p), below, count + (draw > below)), None

    start = jnp.exp(n * jnp.log1p(-p)), jnp.zeros(()), jnp.zeros(())
    (_, _, small), _ = jax.lax.scan(term, start, jnp.arange(TERMS + 1.0))
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
