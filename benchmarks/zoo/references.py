"""Reference posteriors, one for each entry, kept in benchmarks/zoo/data/NAME.npz.

    python -m benchmarks.zoo.references [names] [--minutes 10] [--draws 1000] [--again]

Where the likelihood is exact (Kalman filter, or regimes summed out) by MCMC on it in 64 bit; else by
long particle MCMC (`benchmarks.zoo.particle_mcmc`). Runs go on until rank-normalised R-hat is below
1.01, every coordinate has 1,000 effective draws and thinning leaves 1,000 draws none of which repeats,
or the minutes are over; the figures are stored either way. What is there and good is not computed again.
"""

import argparse
import time
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import tsnl
from benchmarks.zoo import ZOO, Entry
from benchmarks.zoo.particle_mcmc import particle_mcmc
from tsnl.sampling import diagnostics, sample

MAX_R_HAT, MIN_ESS = 1.01, 1000
MOST = 4000  # draws kept
REPEATS = 0.05  # share of draws that thinning may leave repeated, to be left out
EXACT = tsnl.MCMC(
    transition="mixed",
    num_chains=8,
    num_warmup=500,
    num_draws=1500,
    max_r_hat=1.005,
    min_ess=3000,
    max_extensions=30,
)


@dataclass(frozen=True)
class Reference:
    """A reference posterior.

    Attributes:
        series: the observed series that it is of.
        draws: of the unconstrained z, all different.
        r_hat: of each coordinate, of the chains that the draws were taken from.
        ess: the same.
        how: the method in words.
    """

    series: np.ndarray
    draws: np.ndarray
    r_hat: np.ndarray
    ess: np.ndarray
    how: str

    def good(self, num_draws: int = MIN_ESS) -> bool:
        """Whether it has so many draws, in number and effectively, of chains that agree."""
        return self.r_hat.max() < MAX_R_HAT and min(self.ess.min(), len(self.draws)) >= num_draws

    def save(self, entry: Entry) -> None:
        """Write it, whole or not at all."""
        entry.path.parent.mkdir(exist_ok=True)
        part = entry.path.with_suffix(".part.npz")
        np.savez_compressed(part, question=entry.question, **vars(self))
        part.replace(entry.path)


def load(name: str) -> Reference:
    """The stored reference of an entry.

    Raises:
        FileNotFoundError: there is none yet.
        ValueError: it is of another question than the entry asks now.
    """
    entry, remedy = ZOO[name], f"run python -m benchmarks.zoo.references {name}."
    if not entry.path.exists():
        raise FileNotFoundError(f"{entry.path} is not there: {remedy}")
    with np.load(entry.path, allow_pickle=False) as file:
        stored = {key: file[key] for key in file.files}
    if str(stored.pop("question")) != entry.question:
        raise ValueError(f"{entry.path} is of another question than {name} asks now: {remedy}")
    return Reference(**stored | {"how": str(stored["how"])})


class Exact(eqx.Module):
    """The exact log-posterior of z."""

    entry: Entry = eqx.field(static=True)
    rows: jax.Array

    def __call__(self, z):
        """At one z; -inf where it is impossible."""
        theta = self.entry.model.complete(self.entry.prior.constrain(z))
        value = self.entry.prior.log_prob_unconstrained(z) + self.entry.exact(theta, self.rows)
        return jnp.where(jnp.isnan(value), -jnp.inf, value)


def exact_mcmc(entry: Entry) -> tuple[np.ndarray, str]:
    """Chains (chain, draw, size) on the exact posterior, in 64 bit."""
    with jax.enable_x64(True):
        target = Exact(entry, jnp.asarray(entry.series.astype(np.float64)))
        prior = entry.prior.sample_unconstrained(jax.random.key(11), 400)
        spread = 0.05 * np.atleast_2d(np.cov(prior.T)) + 1e-6 * np.eye(entry.prior.size)
        found = sample(jax.random.key(12), target, prior.astype(float), spread, EXACT)
    return found.z.astype(np.float64), "MCMC on the exact likelihood"


def thin(chains: np.ndarray) -> np.ndarray:
    """Evenly taken draws of all chains, at most MOST, none twice."""
    step = max(1, -(-chains.shape[0] * chains.shape[1] // MOST))
    while True:
        pool = chains[:, ::step].reshape(-1, chains.shape[2])
        different = np.unique(pool, axis=0)
        if len(different) >= (1 - REPEATS) * len(pool):
            return np.random.default_rng(0).permutation(different)
        step += 1


def judge(entry: Entry, chains: np.ndarray, how: str) -> Reference:
    """The reference that chains make."""
    return Reference(entry.series, thin(chains), diagnostics.r_hat(chains), diagnostics.ess(chains), how)


def compute(entry: Entry, minutes: float, num_draws: int) -> Reference:
    """Run chains for an entry, until they are good or the time is over."""
    if entry.exact:
        return judge(entry, *exact_mcmc(entry))
    end = time.perf_counter() + 60 * minutes
    for chains, how in particle_mcmc(entry):
        found = judge(entry, chains, how)
        print(f"  {describe(entry, found)}", flush=True)
        if found.good(num_draws) or time.perf_counter() > end:
            break
    return found


def describe(entry: Entry, found: Reference) -> str:
    """One line: the figures, and where the truth lies, in posterior sds from the mean."""
    prior = entry.prior.sample_unconstrained(jax.random.key(0), 2000)
    mean, sd = found.draws.mean(0), found.draws.std(0)
    off = (np.asarray(entry.prior.unconstrain(entry.truth)) - mean) / sd
    return (
        f"{entry.name}: {'good' if found.good() else 'FELL SHORT'}, R-hat {found.r_hat.max():.4f}, "
        f"ess {found.ess.min():.0f}, {len(found.draws)} draws, {found.how}; truth off by "
        f"{off.round(1).tolist()} sds, sd is {(sd / prior.std(0)).round(2).tolist()} of the prior's"
    )


def main() -> None:
    """Make what is missing of the references."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(ZOO))
    parser.add_argument("--minutes", type=float, default=10, help="at most, for each entry")
    parser.add_argument("--draws", type=int, default=MIN_ESS, help="to reach, in number and effectively")
    parser.add_argument("--again", action="store_true", help="also what is there")
    options = parser.parse_args()
    for name in options.names:
        entry, start = ZOO[name], time.perf_counter()
        try:
            found = None if options.again else load(name)
        except (FileNotFoundError, ValueError):
            found = None
        if found is None or not found.good(options.draws):
            new = compute(entry, options.minutes, options.draws)
            if found is None or (new.good(), len(new.draws)) > (found.good(), len(found.draws)):
                new.save(entry)
                found = new
        print(f"{describe(entry, found)}; {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
