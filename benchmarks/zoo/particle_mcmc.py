"""Long particle MCMC for an entry: as `paper.particle_reference`, with inputs and a choice of particles.

A pilot from the best of prior draws, and of draws around the truth, fits a Student proposal; the number
of particles is then set so that the log-likelihood's estimate at the pilot's mean has a variance near
one; final chains mix independent and random-walk proposals. All of it is the exact pseudo-marginal
algorithm: proposals change how fast it mixes, not what it converges to.
"""

from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.zoo.entry import Entry
from paper.particle_reference import NUM_CHAINS, fit, walk
from tsnl.likelihood.estimate import Estimate

STARTS = 400  # draws of the prior to start from, and as many around the truth
PILOT = ((100, 0.0), (100, 0.0), (150, 0.3), (150, 0.6))  # steps, share of independent proposals
LAST = (500, 0.8)
WANTED = 0.9  # variance of the log-likelihood's estimate
INFLATE = 1.3  # of the fitted covariance, for the proposal


def particle_mcmc(entry: Entry) -> Iterator[tuple[np.ndarray, str]]:
    """Chains (chain, draw, size) of z, longer and longer, and how they were made."""
    keys = iter(jax.random.split(jax.random.key(2026), 20_000))
    state, proposal, target = pilot(entry, keys)
    state, path, _ = walk(keys, target, state, proposal, (300, 0.8))
    proposal = fit(path, INFLATE)
    chains = np.zeros((NUM_CHAINS, 0, entry.prior.size))
    while True:
        state, path, rate = walk(keys, target, state, proposal, LAST)
        chains = np.concatenate([chains, path], axis=1)
        how = f"particle MCMC, {NUM_CHAINS} chains of {chains.shape[1]:,} steps"
        yield chains, f"{how}, {target.num_particles} particles, acceptance {rate:.2f}"


def pilot(entry: Entry, keys: Iterator[Any]) -> tuple[Any, Any, Estimate]:
    """Where chains are, a proposal, and the target with as many particles as it needs."""
    target = _target(entry, entry.num_particles)
    start = jnp.asarray(entry.prior.sample_unconstrained(next(keys), STARTS))
    near = 0.3 * jax.random.normal(next(keys), start.shape)
    start = jnp.concatenate([start, entry.prior.unconstrain(entry.truth) + near])
    values = estimates(next(keys), _target(entry, 50), start)
    order = jnp.argsort(-values)
    z = start[order[:NUM_CHAINS]]
    state = z, estimates(next(keys), target, z)
    proposal = z.mean(0), 0.5 * jnp.diag(jnp.std(start[order[:40]], axis=0))
    for steps in PILOT:
        state, path, _ = walk(keys, target, state, proposal, steps)
        proposal = fit(path, INFLATE)
    noise = float(np.var(estimates(next(keys), target, jnp.tile(proposal[0], (64, 1)))))
    wanted = entry.num_particles * noise / WANTED
    count = int(np.clip(50 * round(wanted / 50), 50, 3000)) if np.isfinite(wanted) else 3000
    print(f"  {entry.name}: variance {noise:.2f} with {entry.num_particles}, now {count}", flush=True)
    target = _target(entry, count)
    return (state[0], estimates(next(keys), target, state[0])), proposal, target


def _target(entry: Entry, num_particles: int) -> Estimate:
    return Estimate.of(entry.model, entry.prior, entry.series, num_particles, entry.inputs)


@eqx.filter_jit
def estimates(key: Any, target: Estimate, z: Any) -> Any:
    """One estimate of the log-posterior at each z."""
    keys = jax.random.split(key, len(z))
    return jax.lax.map(lambda now: target(*now), (keys, z), batch_size=16)
