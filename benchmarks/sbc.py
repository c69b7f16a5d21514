"""Rank statistics of T-SNL with amortised training: one kernel, 200 series from the prior.

    python benchmarks/sbc.py [linear volatility predator-prey] [--trials 200]

One round of simulations from the prior trains a kernel; every trial draws a truth from the prior and a
series from it, and samples the posterior that the kernel gives, without a simulation. Writes for each
problem the ranks, their p-values, the coverage and TARP to sbc.json, and a picture to sbc_NAME.png.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

import tsnl
from paper import LINEAR, PREDATOR_PREY, VOLATILITY
from tsnl.checks.uniformity import rank_ecdf
from tsnl.evaluate.calibration import run_trials, seed_of, tarp
from tsnl.show.plots.calibration import ecdf_figure

HERE = Path(__file__).parent
OUT = HERE / "sbc.json"
RUNS = {  # as many simulations in one round as give the kernel the whole prior to learn
    "linear": (LINEAR, tsnl.TSNL(rounds=1, simulations=1000)),
    "volatility": (VOLATILITY, tsnl.TSNL(rounds=1, simulations=1000)),
    "predator-prey": (PREDATOR_PREY, tsnl.TSNL(rounds=1, simulations=2000)),
}


def study(name, num_trials):
    """Train once, then all trials."""
    setting, method = RUNS[name]
    problem = setting.observe(0)
    begin = time.perf_counter()
    trained = tsnl.infer(problem.model, problem.prior, problem.series, method, seed=0)
    seconds = {"train": time.perf_counter() - begin}

    def draws(key, series):
        return trained.posterior.condition(series).sample(seed=seed_of(key))

    begin = time.perf_counter()
    trials = run_trials(setting, trials=num_trials, seed=1, posterior_draws=draws)
    seconds["trials"] = time.perf_counter() - begin
    ecdfs = {label: rank_ecdf(r, trials.num_draws) for label, r in trials.ranks().items()}
    ecdfs["TARP"] = tarp(trials)
    ecdf_figure(ecdfs).savefig(HERE / f"sbc_{name}.png", dpi=80)
    return {
        "simulations": method.rounds * method.simulations,
        "trials": len(trials.numbers),
        "dropped": len(trials.dropped),
        "p_values": {label: ecdf.p_value for label, ecdf in ecdfs.items()},
        "smallest_ess": float(trials.ess.min()),
        "seconds": seconds,
        "ranks": {label: r.tolist() for label, r in trials.ranks().items()},
    }


def main():
    """Study the problems asked for, and keep what is known of the others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(RUNS))
    parser.add_argument("--trials", type=int, default=200)
    options = parser.parse_args()
    for name in options.names or list(RUNS):
        known = json.loads(OUT.read_text()) if OUT.exists() else {}
        found = study(name, options.trials)
        OUT.write_text(json.dumps(known | {name: found}, indent=1) + "\n")
        print(name, {k: v for k, v in found.items() if k != "ranks"}, flush=True)
        print(
            {k: np.bincount(np.array(v) // 10, minlength=10).tolist() for k, v in found["ranks"].items()}
        )


if __name__ == "__main__":
    main()
