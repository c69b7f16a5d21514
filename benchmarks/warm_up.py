"""Our warm-up of NUTS, common to all chains, against blackjax's window adaptation of each chain.

    python benchmarks/warm_up.py

The target is the exact posterior of A, Q and R of a linear-Gaussian series of 100 rows (Kalman filter,
64 bit, as ExactMCMC samples it), for five series. Four chains start at the same points, warm up for the
same number of steps, and draw 500 times each with what they learned; programs are compiled before they
are timed. Writes warm_up.json, means over the series of
    ess_per_gradient: effective draws of the worst coordinate for each gradient while drawing,
    ess_per_second: the same for each second, warm-up included,
    warm_up_seconds, r_hat, divergences,
and ess_per_gradient_least, of the worst series.
"""

import json
import time
from pathlib import Path

import blackjax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

import tsnl
from tsnl.problem import Problem
from tsnl.sampling import chains, diagnostics

NUM_CHAINS, NUM_DRAWS, NUM_SERIES = 4, 500, 5
MODEL = tsnl.models.LinearGaussian(A=0.9, H=1.0, Q=0.1, R=0.1)
PRIOR = tsnl.Prior(A=dist.Uniform(-1.0, 1.0), Q=dist.LogNormal(-1.2, 1.0), R=dist.LogNormal(-1.2, 1.0))


def ours(key, posterior, start, spread, num_steps):
    """Positions, step sizes and inverse mass matrices, one for each chain, by our warm-up."""
    states = chains.start(posterior, np.asarray(start), spread, NUM_CHAINS)
    states, tuning = chains.warm_up(key, posterior, states, spread, "nuts", num_steps)
    step_size = jnp.full(NUM_CHAINS, tuning.step_size)
    covariance = tuning.factor @ tuning.factor.T
    return jnp.asarray(states.z), step_size, jnp.tile(jnp.asarray(covariance), (NUM_CHAINS, 1, 1))


@eqx.filter_jit
def windows(key, posterior, start, spread, num_steps):
    """The same by blackjax: Stan's windows, each chain on its own."""
    adaptation = blackjax.window_adaptation(
        blackjax.nuts, posterior, is_mass_matrix_diagonal=False, max_num_doublings=7
    )

    def one(key, z):
        (state, found), _ = adaptation.run(key, z, num_steps=num_steps)
        return state.position, found["step_size"], found["inverse_mass_matrix"]

    return jax.vmap(one)(jax.random.split(key, NUM_CHAINS), jnp.asarray(start))


@eqx.filter_jit
def draw(key, posterior, z, step_size, inverse_mass_matrix):
    """Draws (chain, draw, size), gradients in all, and divergences."""

    def chain(key, z, step_size, matrix):
        sampler = blackjax.nuts(posterior, step_size, matrix, max_num_doublings=7)

        def step(state, key):
            state, info = sampler.step(key, state)
            return state, (state.position, info.num_integration_steps, info.is_divergent)

        return jax.lax.scan(step, sampler.init(z), jax.random.split(key, NUM_DRAWS))[1]

    keys = jax.random.split(key, NUM_CHAINS)
    draws, gradients, divergent = jax.vmap(chain)(keys, z, step_size, inverse_mass_matrix)
    return draws, jnp.sum(gradients), jnp.sum(divergent)


def measure(warm_up, seed, num_steps):
    """One series, compiled before it is timed."""
    series = MODEL.simulate(seed=seed, length=100)
    posterior = tsnl.ExactMCMC().posterior(Problem.of(MODEL, PRIOR, series))
    cloud = PRIOR.sample_unconstrained(jax.random.key(seed), 256)
    start = chains.start(posterior, np.asarray(cloud), np.cov(cloud.T), NUM_CHAINS).z
    spread = 0.05 * np.cov(cloud.T)
    for key in jax.random.split(jax.random.key(100 + seed), 2):
        begin = time.perf_counter()
        learned = jax.block_until_ready(warm_up(key, posterior, start, spread, num_steps))
        warm_up_seconds = time.perf_counter() - begin
        draws, gradients, divergent = jax.block_until_ready(draw(key, posterior, *learned))
        seconds = time.perf_counter() - begin
    ess = float(diagnostics.ess(np.asarray(draws)).min())
    return {
        "ess_per_gradient": ess / int(gradients),
        "ess_per_second": ess / seconds,
        "warm_up_seconds": warm_up_seconds,
        "r_hat": float(diagnostics.r_hat(np.asarray(draws)).max()),
        "divergences": int(divergent),
    }


def main():
    """Measure both and write what came out."""
    found = {}
    with jax.enable_x64(True):
        for num_steps in (50, 150, 400):
            for name, warm_up in (("ours", ours), ("blackjax", windows)):
                rows = [measure(warm_up, seed, num_steps) for seed in range(NUM_SERIES)]
                means = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
                means["ess_per_gradient_least"] = min(row["ess_per_gradient"] for row in rows)
                found[f"{name}, {num_steps} steps"] = means
                print(name, num_steps, means, flush=True)
    (Path(__file__).parent / "warm_up.json").write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
