"""Speed of PMMH against `particles.mcmc.PMMH`, measured in one run.

    python benchmarks/pmmh_speed.py [--turns 2]

The linear problem, T = 100, 100 particles, 1,000 steps, the same series, the same prior on log Q, both
with a random walk that learns its covariance. Like with like: 1,000 adaptive steps of one chain of
theirs, and of ours. Beside it: a whole run of ours with one chain (starting points, pilot, 500 steps of
warm-up and 1,000 kept steps), and with four. The rivals take turns, the best counts. The first call of
ours compiles: that time is given apart. A whole run counts by its filter runs. Seconds of the processor
stand beside those of the clock, which a busy machine stretches. Writes pmmh_speed.json beside itself.
"""

import argparse
import json
import subprocess
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from foundation import rival_python

import tsnl
from paper import LINEAR
from tsnl.likelihood.estimate import Estimate
from tsnl.runtime.progress import Silent
from tsnl.sampling.pseudo_marginal import BLOCK, Chains, Proposal, advance, estimates

HERE = Path(__file__).parent
NUM_STEPS, NUM_PARTICLES = 1000, 100


def theirs(problem):
    """Seconds, acceptance, mean and sd of a chain of `particles`."""
    run = subprocess.run(
        [rival_python("particles"), HERE / "rival_pmmh.py", str(NUM_STEPS), str(NUM_PARTICLES)],
        input=json.dumps(problem.series[:, 0].tolist()), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(run.stdout)


def ours(problem, seed):
    """The same of one chain of ours that starts at a prior draw, too."""
    target = Estimate.of(problem.model, problem.prior, problem.series, NUM_PARTICLES)
    key, key_start, key_run = jax.random.split(jax.random.key(seed), 3)
    start = problem.prior.unconstrain(problem.prior.sample(key_start))[None]
    begin, begin_cpu = time.perf_counter(), time.process_time()
    chains = Chains(start, jnp.asarray(estimates(key, target, start)))
    proposal = Proposal.of(start[0], jnp.eye(1))
    parts = []
    for first in range(0, NUM_STEPS, BLOCK):
        last = min(first + BLOCK, NUM_STEPS)
        chains, proposal, path = advance(key_run, target, chains, proposal, first, last, rate=0.25)
        parts.append(path)
    times = {"seconds": time.perf_counter() - begin, "cpu_seconds": time.process_time() - begin_cpu}
    z = np.concatenate([p.z[0, :, 0] for p in parts])[NUM_STEPS // 5 :]
    acceptance = float(np.mean([p.accepted.mean() for p in parts]))
    return {**times, "acceptance": acceptance, "mean": float(z.mean()), "sd": float(z.std())}


def whole(problem, num_chains, seed):
    """A whole run by the method."""
    method = tsnl.PMMH(num_steps=NUM_STEPS, num_particles=NUM_PARTICLES, num_chains=num_chains)
    begin, begin_cpu = time.perf_counter(), time.process_time()
    outcome = method.run(jax.random.key(seed), problem, Silent())
    times = {"seconds": time.perf_counter() - begin, "cpu_seconds": time.process_time() - begin_cpu}
    runs = outcome.cost // (problem.length * NUM_PARTICLES)
    return {**times, "filter_runs": runs, "status": outcome.status}


def main():
    """Take turns and write the best times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=2)
    options = parser.parse_args()
    problem = LINEAR.observe(0)
    calls = {
        "particles": lambda seed: theirs(problem),
        "ours": lambda seed: ours(problem, seed),
        "ours, whole run": lambda seed: whole(problem, 1, seed),
        "ours, whole run of 4 chains": lambda seed: whole(problem, 4, seed),
    }
    first = {name: call(0) for name, call in calls.items() if name != "particles"}
    found = {name: [] for name in calls}
    for turn in range(options.turns):
        for name, call in calls.items():
            found[name].append(call(turn))
            print(name, found[name][-1], flush=True)
    best = {
        name: {unit: min(row[unit] for row in rows) for unit in ("seconds", "cpu_seconds")}
        for name, rows in found.items()
    }
    out = {"last": {name: rows[-1] for name, rows in found.items()}, "best": best}
    for unit in ("seconds", "cpu_seconds"):
        theirs_each = best["particles"][unit] / NUM_STEPS
        out[f"times_faster_by_{unit}"] = {
            name: theirs_each * found[name][0].get("filter_runs", NUM_STEPS) / best[name][unit]
            for name in list(calls)[1:]
        }
    out["first_call_with_compilation"] = first
    (HERE / "pmmh_speed.json").write_text(json.dumps(out, indent=1) + "\n")
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
