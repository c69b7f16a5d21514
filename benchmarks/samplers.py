"""Which Markov transition gives the most effective draws in a second, on the three problems.

    python benchmarks/samplers.py

One kernel of each problem is trained once; then each sampler draws from the same posterior, compiled
before it is timed. Writes samplers.json: effective draws (of the worst coordinate) in a second.
"""

import json
import time
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
from accuracy import RUNS

import tsnl
from tsnl.posterior import sample_posterior
from tsnl.sampling.transitions import TRANSITIONS

HERE = Path(__file__).parent


def main():
    """Train once for each problem, sample with each transition."""
    found = {}
    for name in ("linear-100", "volatility-200", "predator-prey-500"):
        setting, method = RUNS[name]
        method = replace(method, rounds=2, sampler=replace(method.sampler, max_extensions=0))
        problem = setting.observe(0)
        result = tsnl.infer(problem.model, problem.prior, problem.series, method, seed=0)
        points = np.asarray(jax.vmap(jax.vmap(problem.prior.unconstrain))(result.draws)).reshape(
            -1, problem.prior.size
        )[::20]
        found[name] = {}
        for transition in TRANSITIONS:
            options = tsnl.MCMC(transition=transition, max_extensions=0)
            sample_posterior(jax.random.key(0), result.posterior, points, options)
            start = time.perf_counter()
            draws = sample_posterior(jax.random.key(1), result.posterior, points, options)
            seconds = time.perf_counter() - start
            found[name][transition] = {
                "ess_per_second": draws.ess / seconds,
                "r_hat": draws.r_hat,
                "seconds": seconds,
            }
            print(name, transition, found[name][transition], flush=True)
    (HERE / "samplers.json").write_text(json.dumps(found, indent=2, default=float) + "\n")


if __name__ == "__main__":
    main()
