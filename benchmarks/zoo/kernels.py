"""Compact kernels and kernels that bend with theta, by the number of simulations they learn from.

    python -m benchmarks.zoo.kernels [names] [--simulations 500,4000] [--out benchmarks/zoo/kernels.csv]

Rounds are left out: simulations come from around the reference posterior, stretched twofold as the last
rounds' are, so that kernels are compared and nothing else. Only of the tuning half. One row a trial;
rows that are there are not computed again.
"""

import argparse
import csv
import time
from pathlib import Path

import jax
import numpy as np

import tsnl
from benchmarks.zoo import ZOO, Entry
from benchmarks.zoo.references import load
from benchmarks.zoo.run import measure, read
from tsnl.kernel import Mixture, fit_scaling
from tsnl.kernel.examples import Simulated
from tsnl.kernel.learn import learn
from tsnl.methods.sequential.tsnl import FINE
from tsnl.posterior import Posterior, sample_posterior
from tsnl.problem import Problem

OUT = Path(__file__).parent / "kernels.csv"
FIELDS = ("name", "kernel", "simulations", "held_out_loss", "sliced_wasserstein", "worst_bias",
          "worst_sd_ratio", "seconds")  # fmt: skip
KERNELS = {
    "compact": tsnl.TSNL(head=Mixture(curved=False), decays=(0.5, 0.8, 0.95)),
    "bent": tsnl.TSNL(head=Mixture(curved=True), decays=FINE),
}


def simulated(entry: Entry, problem: Problem, n: int) -> Simulated:
    """Series at draws of the reference, stretched about their mean, and a little noise."""
    rng, draws = np.random.default_rng(0), load(entry.name).draws
    cloud = problem.prior.sample_unconstrained(jax.random.key(7), 2000)
    mean, sd = draws.mean(axis=0), draws.std(axis=0)
    stretch = np.clip(cloud.std(axis=0) / sd, 1.0, 2.0)
    z = mean + stretch * (draws[rng.choice(len(draws), n)] - mean)
    z += 0.3 * sd * rng.normal(size=z.shape)
    batch = problem.simulate(jax.random.key(100), problem.prior.constrain_all(z), 0)
    return Simulated(batch.series, problem.all_inputs(0, n), z)


def trial(entry: Entry, name: str, n: int) -> dict[str, object]:
    """One row."""
    problem = Problem.of(entry.model, entry.prior, entry.series, entry.inputs)
    method, made, begin = KERNELS[name], simulated(entry, problem, n), time.perf_counter()
    spec = method.spec(problem, 4)
    scaling = fit_scaling(made.series, made.z, ("none",) * spec.d_y, made.inputs)
    patterns = [np.isfinite(one) for one in problem.panel]
    given = (scaling, made, np.ones(n, bool), patterns, method.training)
    kernel, fit = learn(jax.random.key(1), np.random.default_rng(0), spec, *given)
    posterior = Posterior.learned(problem.prior, kernel, problem.panel, problem.inputs)
    draws = load(entry.name).draws
    spread = np.atleast_2d(np.cov(draws.T))
    found = sample_posterior(jax.random.key(2), posterior, made.z[:64], method.sampler, spread)
    z = np.asarray(found.z, dtype=np.float64).reshape(-1, entry.prior.size)
    figures = measure(draws, z) | {"held_out_loss": fit.held_out_loss}
    row = {key: f"{figures[key]:.5g}" for key in FIELDS if key in figures}
    seconds = round(time.perf_counter() - begin, 1)
    return {"name": entry.name, "kernel": name, "simulations": n, "seconds": seconds} | row


def main() -> None:
    """Run what is missing of the trials."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="?", default="cir,unit_root,reservoir,student_ar")
    parser.add_argument("--simulations", default="500,4000")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    there = {(row["name"], row["kernel"], int(row["simulations"])) for row in read(options.out)}
    for n in map(int, options.simulations.split(",")):
        for entry in (ZOO[name] for name in options.names.split(",")):
            for name in KERNELS:
                if (entry.name, name, n) in there:
                    continue
                row = trial(entry, name, n)
                new = not options.out.exists()
                with options.out.open("a", newline="") as file:
                    writer = csv.DictWriter(file, FIELDS)
                    if new:
                        writer.writeheader()
                    writer.writerow(row)
                print(row, flush=True)


if __name__ == "__main__":
    main()
