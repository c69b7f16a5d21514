"""Before a particle chain: where to start, and how many particles."""

from dataclasses import dataclass
from math import ceil, log2

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.likelihood.estimate import Estimate
from tsnl.likelihood.target import Target
from tsnl.methods.particle.budget import FEWEST, LEAST_RUNS, Allotment, Ledger, most_particles
from tsnl.runtime.reader import option
from tsnl.sampling.pseudo_marginal import POINTS, Chains, Path, Proposal, estimates

MOST = 2**14  # particles that "auto" may choose
LOW, HIGH = 0.5, 1.5  # a variance in here is near 1
TRIES = 4


@dataclass(frozen=True)
class Particles:
    """How many particles, the variance of the log-likelihood that they give, and what to say of it."""

    num_particles: int
    variance: float
    note: str


def start(
    key: Key[Array, ""], target: Estimate, allotted: Allotment, ledger: Ledger
) -> tuple[Chains, Proposal]:
    """Chains at the best of some prior draws, and a first proposal of a part of the prior's spread.

    Raises:
        FloatingPointError: no filter gave a finite likelihood.
    """
    key_cloud, key_run = jax.random.split(key)
    n, num_chains = allotted.num_starts, allotted.num_chains
    cloud = jax.vmap(target.prior.unconstrain)(target.prior.sample(key_cloud, TRIES * POINTS))
    covariance = 0.05 * jnp.atleast_2d(jnp.cov(cloud.T))
    tried = 0
    while tried == 0 or (tried < TRIES * n and ledger.runs(target.num_particles) > n + LEAST_RUNS):
        z = cloud[tried : tried + n]
        values = estimates(jax.random.fold_in(key_run, tried), target, z)
        ledger.pay(n, target.num_particles)
        tried += n
        if np.isfinite(values).any():
            order = np.argsort(-values, kind="stable")[: np.isfinite(values).sum()]
            best = jnp.asarray(np.resize(order[:num_chains], num_chains))
            return Chains(z[best], jnp.asarray(values)[best]), Proposal.of(z[best].mean(0), covariance)
    raise FloatingPointError(
        f"All {tried} filters of {target.num_particles} particles at prior draws collapsed: no particle "
        f"could explain some row of the series. The prior and the series may contradict each other: "
        f"compare prior simulations with the series, or give more particles."
    )


def choose_particles(
    key: Key[Array, ""],
    target: Target,
    centre: Float[Array, " size"],
    auto: bool,
    allotted: Allotment,
    ledger: Ledger,
) -> Particles:
    r"""The variance of \(\log \hat p(y \mid \theta)\) at a central z and, if auto, the particles.

    The variance falls like one over the number of particles, so that a few measurements are enough.
    Where the budget does not pay for another one, it is computed from the last by that rule.
    """
    n, runs = target.num_particles, allotted.num_pilot
    points = jnp.tile(centre, (runs, 1))
    cap = min(MOST, most_particles(allotted.num_chains, n, ledger))
    for attempt in range(TRIES + 1):
        now = target.with_particles(n)
        values = estimates(jax.random.fold_in(key, attempt), now, points).astype(float)
        ledger.pay(runs, n)
        variance = float(values.var(ddof=1)) if np.isfinite(values).all() else float("inf")
        wanted = _rung(4.0 * n if np.isinf(variance) else n * min(variance, 16.0), cap)
        if not auto or LOW <= variance <= HIGH or wanted == n or attempt == TRIES:
            break
        cap = min(cap, most_particles(allotted.num_chains, FEWEST, ledger))
        wanted = _rung(float(wanted), cap)
        if runs * wanted * 10 > ledger.runs(1):
            variance, n = variance * n / wanted, wanted
            break
        n = wanted
    return Particles(n, variance, _note(auto, variance, n, ledger))


def central(path: Path, chains: Chains) -> Float[Array, " size"]:
    """The point of the search's second half nearest to its mean; the best chain's without a search."""
    half = path.z.shape[1] // 2
    if half == 0:
        return chains.z[jnp.argmax(chains.log_density)]
    pool = path.z[:, half:].reshape(-1, path.z.shape[2])
    distance = (((pool - pool.mean(axis=0)) / (pool.std(axis=0) + 1e-12)) ** 2).sum(axis=1)
    return jnp.asarray(pool[np.argmin(distance)])


def _rung(wanted: float, cap: int) -> int:
    """The next of 16, 24, 32, 48, 64, ...: few sizes to compile for; within the cap."""
    power = 2.0 ** ceil(log2(max(wanted, FEWEST)))
    return min(int(0.75 * power if wanted <= 0.75 * power and power > FEWEST else power), cap)


def _note(auto: bool, variance: float, num_particles: int, ledger: Ledger) -> str:
    """What there is to say of a variance that is too large."""
    if variance <= 2 * HIGH:
        return ""
    text = f"the variance of the log-likelihood is {variance:.3g}, near 1 is good: the chains are sticky"
    if not auto:
        return f"{text}; give more particles or {option('num_particles', 'auto')}"
    return (
        f"{text}; {'raise max_cost' if ledger.limit is not None else f'{MOST} particles are the most'}"
    )
