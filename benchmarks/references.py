"""Reference posteriors that have no closed form.

    python benchmarks/references.py predator_prey [--series 10] [--particles 250] [--effective 1000]
    python benchmarks/references.py volatility [--series 20] [--particles 5000]

Predator-prey, by long particle MCMC. For each observed series a pilot of random-walk chains, started at
the best of draws from the prior and from around the truth, finds the posterior; a Student proposal is
fitted to it and refitted; the final chains mix independent proposals (four in five) with random-walk
ones until every coordinate has the effective sample size asked for. All of it is the exact
pseudo-marginal algorithm: proposals change how fast it mixes, not what it converges to.

Volatility, by particle filters on a grid of z, the one unconstrained coordinate of C: the logarithm of
the mean of several runs at each point, smoothed by a polynomial.

Writes benchmarks/data/NAME.npz, one series at a time, and goes on where it was interrupted.
"""

import argparse
import time
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from blackjax.diagnostics import effective_sample_size, potential_scale_reduction

from tsnl.experiments import PREDATOR_PREY, VOLATILITY
from tsnl.likelihood.particle import bootstrap

DATA = Path(__file__).parent / "data"
NUM_CHAINS, DEGREES = 8, 6.0
LENGTH = PREDATOR_PREY.length
GRID = np.linspace(-1.2, 2.3, 36)  # z of the volatility model: C[1,0] = tanh z
RUNS = 4

model, prior = PREDATOR_PREY.model, PREDATOR_PREY.prior
truth = np.array([PREDATOR_PREY.truth[f"rho{i}"] for i in (1, 2, 3, 4)])


def log_posterior(key, z, rows, num_particles):
    """The pseudo-marginal target: log prior plus the particle filter's estimate."""
    theta = prior.constrain(z)
    estimate = bootstrap(key, model, theta, rows, num_particles).log_likelihood
    return prior.log_prob_unconstrained(z) + estimate


def log_student(z, mean, factor):
    """Log-density of the proposal, up to a constant."""
    white = jax.scipy.linalg.solve_triangular(factor, z - mean, lower=True)
    return -0.5 * (DEGREES + z.size) * jnp.log1p(jnp.sum(white**2) / DEGREES)


@eqx.filter_jit
def run(key, z, value, rows, mean, factor, num_steps, num_particles, independent):
    """`num_steps` of pseudo-marginal Metropolis for all chains side by side."""
    size = z.shape[1]

    def step(carry, t):
        z, value = carry
        k_kind, k_move, k_scale, k_filter, k_accept = jax.random.split(jax.random.fold_in(key, t), 5)
        noise = jax.random.normal(k_move, z.shape) @ factor.T
        chi2 = jax.random.gamma(k_scale, DEGREES / 2, (len(z), 1)) * 2
        alone = mean + noise * jnp.sqrt(DEGREES / chi2)
        near = z + noise * (2.38 / size**0.5)
        is_alone = jax.random.uniform(k_kind) < independent
        proposed = jnp.where(is_alone, alone, near)
        keys = jax.random.split(k_filter, len(z))
        new = jax.vmap(lambda k, x: log_posterior(k, x, rows, num_particles))(keys, proposed)
        q = jax.vmap(lambda x: log_student(x, mean, factor))
        ratio = new - value + jnp.where(is_alone, q(z) - q(proposed), 0.0)
        accept = jnp.log(jax.random.uniform(k_accept, (len(z),))) < ratio
        z = jnp.where(accept[:, None], proposed, z)
        value = jnp.where(accept, new, value)
        return (z, value), (z, accept)

    (z, value), (path, accepted) = jax.lax.scan(step, (z, value), jnp.arange(num_steps))
    return z, value, jnp.swapaxes(path, 0, 1), accepted.mean()


def fit(path, inflate):
    """Mean and scale of the draws (chain, draw, size), the last half of each chain."""
    pool = np.concatenate(np.asarray(path)[:, path.shape[1] // 2 :])
    covariance = np.cov(pool.T) * inflate + 1e-6 * np.eye(pool.shape[1])
    return jnp.asarray(pool.mean(0)), jnp.linalg.cholesky(jnp.asarray(covariance))


def reference(seed, num_particles, effective):
    """Draws of z (chain, draw, 4) for the observed series of one seed, and what was seen of them."""
    series = model.simulate(seed=seed, length=LENGTH)
    rows = jnp.asarray(series)[:, 0]
    key = jax.random.fold_in(jax.random.key(2024), seed)
    keys = iter(jax.random.split(key, 1000))
    start = jax.vmap(prior.unconstrain)(prior.sample(next(keys), 400))
    start = jnp.concatenate([start, jax.vmap(prior.unconstrain)(_near_truth(next(keys)))])
    score = eqx.filter_jit(jax.vmap(lambda k, x: log_posterior(k, x, rows, 50)))
    values = score(jax.random.split(next(keys), len(start)), start)
    best = jnp.argsort(-values)[:NUM_CHAINS]
    z, value = start[best], values[best]
    mean, factor = z.mean(0), 0.1 * jnp.eye(4)
    cost = 50 * LENGTH * len(start)

    for num_steps, independent in ((60, 0.0), (60, 0.0), (80, 0.0), (100, 0.5), (150, 0.8)):
        z, value, path, rate = run(
            next(keys), z, value, rows, mean, factor, num_steps, num_particles, independent
        )
        cost += num_steps * NUM_CHAINS * num_particles * LENGTH
        mean, factor = fit(path, 1.2)
    kept = []
    while True:
        z, value, path, rate = run(next(keys), z, value, rows, mean, factor, 150, num_particles, 0.8)
        cost += 150 * NUM_CHAINS * num_particles * LENGTH
        kept.append(np.asarray(path))
        draws = np.concatenate(kept, axis=1)
        size = np.asarray(effective_sample_size(draws))
        if size.min() >= effective and np.max(potential_scale_reduction(draws)) < 1.02:
            break
    info = {
        "ess": size.round().tolist(),
        "r_hat": np.asarray(potential_scale_reduction(draws)).round(4).tolist(),
        "acceptance": round(float(rate), 3),
        "steps": draws.shape[1],
        "cost": cost,
    }
    return series, draws, info


def _near_truth(key):
    spread = jnp.exp(0.2 * jax.random.normal(key, (100, 4)))
    return {f"rho{i + 1}": truth[i] * spread[:, i] for i in range(4)}


def volatility_reference(seed, num_particles):
    """The log-posterior of z on the grid (unnormalised) for the observed series of one seed."""
    problem = VOLATILITY.observe(seed)
    rows = jnp.asarray(problem.series)
    log_p = _volatility_estimates(jax.random.key(seed), rows, num_particles)
    log_p = np.asarray(jax.nn.logsumexp(log_p, axis=1) - np.log(RUNS), dtype=float)
    # noise of a few hundredths of a nat: a polynomial of degree 7, weighted by the posterior's mass
    weight = np.exp(0.5 * np.maximum(log_p - log_p.max(), -16))
    smooth = np.polynomial.Polynomial.fit(GRID, log_p, 7, w=weight)(GRID)
    noise = float(np.std((smooth - log_p)[log_p > log_p.max() - 5]))
    return problem.series, smooth, noise


@eqx.filter_jit
def _volatility_estimates(key, rows, num_particles):
    def at(z):
        theta = VOLATILITY.prior.constrain(z[None])
        log_prior = VOLATILITY.prior.log_prob_unconstrained(z[None])

        def one(k):
            return bootstrap(k, VOLATILITY.model, theta, rows, num_particles).log_likelihood

        keys = jax.random.split(key, RUNS)  # the same at every z: common random numbers
        return log_prior + jax.lax.map(one, keys)

    return jax.lax.map(at, jnp.asarray(GRID))


def main():
    """Make what is missing of the references."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=["predator_prey", "volatility"])
    parser.add_argument("--series", type=int)
    parser.add_argument("--effective", type=int, default=1000)
    parser.add_argument("--particles", type=int)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    out = DATA / f"{options.name}.npz"
    stored = dict(np.load(out)) if out.exists() else {}
    predators = options.name == "predator_prey"
    count = options.series or (10 if predators else 20)
    for seed in range(options.first, options.first + count):
        if f"series_{seed}" in stored:
            continue
        start = time.perf_counter()
        if predators:
            series, draws, info = reference(seed, options.particles or 250, options.effective)
            thinned = draws[:, :: max(1, draws.shape[1] // 250)].reshape(-1, 4)
            stored |= {f"draws_{seed}": np.exp(thinned).astype(np.float32)}
            stored |= {f"info_{seed}": np.array(str(info))}
        else:
            series, log_p, info = volatility_reference(seed, options.particles or 5000)
            stored |= {f"log_posterior_{seed}": log_p, f"noise_{seed}": np.array(info)}
        stored |= {f"series_{seed}": series}
        DATA.mkdir(exist_ok=True)
        np.savez_compressed(out, **stored)
        print(f"series {seed}: {info}, {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
