"""Calibration of PMMH and ExactMCMC on the linear problem, by rank statistics.

    python benchmarks/rank_statistics.py [pmmh exact] [--trials 200]

In each trial theta comes from the prior and a series of 100 rows from theta; a method whose draws are
from the posterior puts theta at a uniform rank among them (Cook, Gelman and Rubin, 2006; Talts et al.,
2018). The rank is among 39 draws spread evenly over all chains, thinned because neighbours of a chain
resemble each other; 40 possible ranks in ten bins, and a chi-square test with nine degrees of freedom.
Writes rank_statistics.json beside itself.
"""

import argparse
import json
import time
from pathlib import Path

import jax
import numpy as np
from scipy.stats import chisquare

import tsnl
from paper import LINEAR
from tsnl.problem import Problem
from tsnl.runtime.compilation import cache_compilations
from tsnl.runtime.progress import Silent

OUT = Path(__file__).parent / "rank_statistics.json"
NUM_RANKED, NUM_BINS = 39, 10
METHODS = {
    "pmmh": tsnl.PMMH(num_steps=200, num_warmup=150),
    "exact": tsnl.ExactMCMC(
        tsnl.MCMC(transition="nuts", num_chains=4, num_warmup=100, num_draws=100, min_ess=150)
    ),
}


def trial(method, seed):
    """The true Q, its rank, and what the chains said of themselves."""
    q = float(LINEAR.prior.sample(jax.random.key(seed))["Q"])
    series = LINEAR.model.simulate(seed=10_000 + seed, length=LINEAR.length, theta={"Q": q})
    outcome = method.run(
        jax.random.key(20_000 + seed), Problem.of(LINEAR.model, LINEAR.prior, series), Silent()
    )
    z = outcome.z[..., 0].ravel()
    ranked = z[np.linspace(0, len(z) - 1, NUM_RANKED).astype(int)]
    facts = {key: outcome.history[-1].get(key) for key in ("ess", "r_hat", "num_particles")}
    return {"Q": q, "rank": int((ranked < np.log(q)).sum()), "cost": outcome.cost, **facts}


def assess(method, num_trials, name):
    """All trials of a method, and whether their ranks are uniform."""
    begin = time.perf_counter()
    trials = []
    for seed in range(num_trials):
        trials.append(trial(method, seed))
        if seed % 20 == 19:
            print(name, seed + 1, f"{time.perf_counter() - begin:.0f} s", flush=True)
    ranks = np.array([t["rank"] for t in trials])
    counts = np.bincount(ranks * NUM_BINS // (NUM_RANKED + 1), minlength=NUM_BINS)
    test = chisquare(counts)
    return {
        "method": str(method),
        "trials": num_trials,
        "counts": counts.tolist(),
        "chi_square": float(test.statistic),
        "p_value": float(test.pvalue),
        "smallest_ess": min(t["ess"] for t in trials),
        "largest_r_hat": max(t["r_hat"] for t in trials),
        "Q_range": [min(t["Q"] for t in trials), max(t["Q"] for t in trials)],
        "particles": sorted({t["num_particles"] for t in trials if t["num_particles"]}),
        "seconds": time.perf_counter() - begin,
        "ranks": ranks.tolist(),
    }


def main():
    """Assess the methods asked for, and keep what is known of the others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(METHODS))
    parser.add_argument("--trials", type=int, default=200)
    options = parser.parse_args()
    cache_compilations()
    for name in options.names:
        found = assess(METHODS[name], options.trials, name)
        known = json.loads(OUT.read_text()) if OUT.exists() else {}
        OUT.write_text(json.dumps(known | {name: found}, indent=1) + "\n")
        print(name, {k: v for k, v in found.items() if k != "ranks"}, flush=True)


if __name__ == "__main__":
    main()
