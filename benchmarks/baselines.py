"""PMMH, ExactMCMC and SNL against the exact posterior of the linear problem.

    python benchmarks/baselines.py [PMMH ExactMCMC SNL] [--series 3]

PMMH with 500 particles and 20,000 steps (4 chains of 5,000), ExactMCMC with 4 chains of 4,000 draws, SNL
with 5,000 simulations in 5 rounds.
The distance is the total variation between the draws and the exact posterior of log Q (Kalman filter on
a grid) on 20 bins of equal exact mass: half the sum of |share of draws - 1/20|. Nothing is subtracted,
so it holds the noise of the draws too, about 1.74 / sqrt(effective sample size) where they are exact:
that figure stands beside it. Writes baselines.json beside itself, and keeps what it holds of other
methods.
"""

import argparse
import json
import time
from pathlib import Path

import jax
import numpy as np

import tsnl
from paper import LINEAR
from paper.problems import linear_reference
from tsnl.runtime.compilation import cache_compilations
from tsnl.runtime.progress import Silent

OUT = Path(__file__).parent / "baselines.json"
NUM_BINS = 20
LIMITS = {"PMMH": 0.05, "ExactMCMC": 0.05, "SNL": 0.15}
GRID = np.linspace(-10, 4, 2801)
METHODS = {
    "PMMH": tsnl.PMMH(num_particles=500, num_steps=5000),
    "ExactMCMC": tsnl.ExactMCMC(tsnl.MCMC(transition="nuts", num_chains=4, num_draws=4000)),
    "SNL": tsnl.SNL(rounds=5, simulations=1000, sampler=tsnl.MCMC(num_draws=1000, min_ess=1000)),
}


def distance(problem, z):
    """Half the sum over the bins of |share of the draws - 1 / NUM_BINS|."""
    log_p = linear_reference(problem, GRID)
    cumulative = np.cumsum(np.exp(log_p - log_p.max()))
    level = np.interp(z.ravel(), GRID, cumulative / cumulative[-1])  # uniform where the draws are exact
    shares = np.histogram(level, bins=NUM_BINS, range=(0, 1))[0] / level.size
    return 0.5 * float(np.abs(shares - 1 / NUM_BINS).sum())


def compare(method, seed):
    """One method on one observed series."""
    problem = LINEAR.observe(seed)
    begin = time.perf_counter()
    outcome = method.run(jax.random.key(seed), problem, Silent())
    ess = outcome.history[-1]["ess"]
    return {
        "series": seed,
        "total_variation": distance(problem, outcome.z),
        "noise_of_exact_draws": 1.74 / ess**0.5,
        "ess": ess,
        "r_hat": outcome.history[-1]["r_hat"],
        "acceptance": outcome.history[-1]["acceptance"],
        "cost": outcome.cost,
        "seconds": time.perf_counter() - begin,
        "status": outcome.status,
    }


def main():
    """Compare the methods on the observed series of the first seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(METHODS))
    parser.add_argument("--series", type=int, default=3)
    options = parser.parse_args()
    cache_compilations()
    for name in options.names or list(METHODS):
        method, rows = METHODS[name], []
        for seed in range(options.series):
            rows.append(compare(method, seed))
            print(name, rows[-1], flush=True)
        worst = max(row["total_variation"] for row in rows)
        found = {"method": str(method), "worst": worst, "within": worst <= LIMITS[name], "series": rows}
        known = json.loads(OUT.read_text()) if OUT.exists() else {}
        OUT.write_text(json.dumps(known | {name: found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
