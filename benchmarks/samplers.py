"""Which Markov kernel is done soonest, on the three problems and on five assets with ten parameters.

    python benchmarks/samplers.py

One kernel of each problem is trained once; then each sampler draws from the same posterior with its
default options, extended until the draws are good enough, compiled before it is timed. Writes
samplers.json: seconds, effective draws of the worst coordinate in a second, R-hat, and whether they were
good enough in the end.
"""

import json
import time
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
from accuracy import RUNS

import tsnl
from tsnl.experiments.problems import PROBLEMS
from tsnl.posterior import sample_posterior
from tsnl.sampling.kernels import KERNELS

HERE = Path(__file__).parent
FIVE = {"five-assets-200": (PROBLEMS["volatility-5"], tsnl.TSNL(rounds=4, simulations=50))}


def main():
    """Train once for each problem, sample with each kernel."""
    found = {}
    runs = {name: RUNS[name] for name in ("linear-100", "volatility-200", "predator-prey-500")} | FIVE
    for name, (setting, method) in runs.items():
        method = replace(method, rounds=2, sampler=replace(method.sampler, max_extensions=0))
        problem = setting.observe(0)
        result = tsnl.infer(problem.model, problem.prior, problem.series, method, seed=0)
        points = np.asarray(jax.vmap(jax.vmap(problem.prior.unconstrain))(result.draws)).reshape(
            -1, problem.prior.size
        )[::20]
        found[name] = {}
        for kernel in KERNELS:
            options = tsnl.MCMC(kernel=kernel)
            sample_posterior(jax.random.key(0), result.posterior, points, options)
            start = time.perf_counter()
            draws = sample_posterior(jax.random.key(1), result.posterior, points, options)
            seconds = time.perf_counter() - start
            found[name][kernel] = {
                "effective_per_second": round(draws.effective / seconds, 1),
                "r_hat": round(draws.r_hat, 4),
                "seconds": round(seconds, 3),
                "good_enough": draws.healthy,
            }
            print(name, kernel, found[name][kernel], flush=True)
            (HERE / "samplers.json").write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
