"""How far a correction brings T-SNL's posterior to the reference, and what plain PMMH would cost.

    python benchmarks/correction.py [names] [--series 10] [--minutes 60] [--short]
    python benchmarks/correction.py pmmh [names] [--series 10] [--minutes 60]
    python benchmarks/correction.py ranks [--trials 200] [--minutes 60]

Each row of correction.csv is one observed series (seeds 0, 1, ...; of the zoo's models the one series
with a reference, and as many seeds of the correction): sliced Wasserstein distance to the reference in
its standard deviations before and after, k-hat, effective size and cost of the correction. T-SNL learns
on the first series of each problem; its kernel is conditioned on the others. `pmmh` runs PMMH
on the same series with several times the calls of the dynamics that T-SNL and its correction made
together (RIVALS): a row of correction_pmmh.csv each. `ranks` asks on linear series drawn from the prior
whether the truth's rank among corrected draws is uniform: a row of correction_ranks.csv each, one kernel
for all. Rows that are there are not computed again, and none is begun after the minutes are over.
`--short` is one series of two problems, and twenty ranks. benchmarks/exact_tables.py makes tables.
"""

import argparse
import csv
import time
import warnings
from functools import cache
from pathlib import Path

import jax
import numpy as np

import tsnl
from benchmarks.zoo import ZOO
from benchmarks.zoo.references import load
from paper import LINEAR, PREDATOR_PREY, VOLATILITY
from paper.problems import linear_reference
from paper.references import LINEAR_GRID, VOLATILITY_GRID, quantiles
from tsnl.checks.uniformity import rank_ecdf
from tsnl.evaluate.metrics import sliced_wasserstein
from tsnl.methods.api import Outcome
from tsnl.methods.particle.second import draft_of
from tsnl.posterior import sample_posterior
from tsnl.problem import Problem
from tsnl.runtime.compilation import cache_compilations
from tsnl.runtime.progress import Silent
from tsnl.sampling.defensive import covariance

HERE = Path(__file__).parent
OUT, PMMH, RANKS = (HERE / f"correction{name}.csv" for name in ("", "_pmmh", "_ranks"))
PAPER = {
    "linear": (LINEAR, tsnl.TSNL(rounds=5, simulations=20)),
    "volatility": (VOLATILITY, tsnl.TSNL(rounds=2, simulations=100)),
    "predator-prey": (PREDATOR_PREY, tsnl.TSNL(rounds=2, simulations=250)),
}
OF_THE_ZOO = ("leverage", "student_ar", "poisson_ar", "ricker")
ZOO_METHOD = tsnl.TSNL(rounds=2, simulations=250)
SHORT = ("linear", "volatility")
# budgets of PMMH, in calls of T-SNL and its correction together; on the linear model those are T-SNL's
# alone, and the least that PMMH can run with are ten times as many
RIVALS = {"linear": (10, 50, 250)}
NUM_RANKED = 39
CHAINS = tsnl.MCMC(transition="mixed", num_warmup=100, num_draws=150, min_ess=600)


def of_grid(grid, log_p, count=2000):
    """Evenly spaced quantiles of a density on a grid, as draws."""
    return quantiles(grid, log_p, (np.arange(count) + 0.5) / count)[:, None]


def pose(name, seed):
    """The question, draws of z of its reference, and the first method."""
    if name in OF_THE_ZOO:
        entry = ZOO[name]
        problem = Problem.of(entry.model, entry.prior, entry.series, entry.inputs)
        return problem, load(name).draws, ZOO_METHOD
    setting, method = PAPER[name]
    problem = setting.observe(seed)
    if setting is LINEAR:
        return problem, of_grid(LINEAR_GRID, linear_reference(problem, LINEAR_GRID)), method
    stored = np.load(HERE / "data" / f"{name.replace('-', '_')}.npz")
    np.testing.assert_array_equal(stored[f"series_{seed}"], problem.series)
    if setting is VOLATILITY:
        return problem, of_grid(VOLATILITY_GRID, stored[f"log_posterior_{seed}"]), method
    return problem, np.log(stored[f"draws_{seed}"].astype(float)), method


def distance(reference, z):
    """Of all draws of z."""
    flat = z.reshape(-1, reference.shape[1]).astype(float)
    return sliced_wasserstein(reference, flat, scale=reference.std(axis=0))


def infer(problem, method, seed):
    """By a method, without a bar."""
    inputs = None if problem.inputs is None else problem.inputs[0]
    question = (problem.model, problem.prior, problem.series)
    return tsnl.infer(*question, method, inputs=inputs, seed=seed, progress=False)


@cache
def learned(name):
    """T-SNL on the first series of a problem."""
    problem, _, method = pose(name, 0)
    return infer(problem, method, 0)


def draft(name, problem, seed):
    """What there is to correct: T-SNL's own draws, or those of its kernel on another series."""
    first = learned(name)
    if seed == 0 or name in OF_THE_ZOO:
        return draft_of(first)
    posterior = first.posterior.condition(problem.series)
    start = first.unconstrained().reshape(-1, problem.prior.size)
    z = sample_posterior(jax.random.key(seed), posterior, start, CHAINS, covariance(start)).z
    return Outcome(z, np.zeros(z.shape[:2]), first.cost, "", [], posterior)


def trial(name, seed):
    """One row of a correction."""
    problem, reference, _ = pose(name, seed)
    first = draft(name, problem, seed)
    begin = time.perf_counter()
    found = tsnl.Correct().improve(jax.random.key(seed), problem, first, Silent())
    last = found.history[-1]
    return {
        "name": name,
        "seed": seed,
        "before": distance(reference, first.z),
        "after": distance(reference, found.z),
        "k_hat": last["k_hat"],
        "ess": last["ess"],
        "draws": last["draws"],
        "moves": last.get("moves", 0),
        "mean_shift": last["mean_shift"],
        "num_particles": last["num_particles"],
        "cost_first": first.cost,
        "cost_correction": found.cost - first.cost,
        "seconds": time.perf_counter() - begin,
    }


def rival(row, times):
    """One row of PMMH, which draws as long as its budget lasts."""
    name, seed = row["name"], int(row["seed"])
    problem, reference, _ = pose(name, seed)
    budget = times * (int(row["cost_first"]) + int(row["cost_correction"]))
    begin = time.perf_counter()
    found = infer(problem, tsnl.PMMH(max_cost=budget, num_steps=100_000), seed)
    last = found.history[-1]
    return {
        "name": name,
        "seed": seed,
        "times": times,
        "cost": found.cost,
        "distance": distance(reference, found.unconstrained()),
        "num_particles": last["num_particles"],
        "ess": last["ess"],
        "r_hat": last["r_hat"],
        "seconds": time.perf_counter() - begin,
    }


def ranks(num_trials, in_time):
    """Missing rows of the ranks, then their p-value."""
    problem = LINEAR.observe(0)
    method = tsnl.TSNL(rounds=1, simulations=1000)
    trained = infer(problem, method, 0)
    there = {int(row["trial"]) for row in read(RANKS)}
    for seed in sorted(set(range(num_trials)) - there):
        if not in_time():
            break
        truth = float(LINEAR.prior.sample(jax.random.key(seed))["Q"])
        series = LINEAR.model.simulate(seed=10_000 + seed, length=LINEAR.length, theta={"Q": truth})
        problem = Problem.of(LINEAR.model, LINEAR.prior, series)
        posterior = trained.posterior.condition(series)
        z = sample_posterior(jax.random.key(20_000 + seed), posterior, None, CHAINS).z
        draft = Outcome(z, np.zeros(z.shape[:2]), 0, "", [], posterior)
        found = tsnl.Correct().improve(jax.random.key(30_000 + seed), problem, draft, Silent())
        flat = found.z.ravel()
        chosen = flat[np.linspace(0, len(flat) - 1, NUM_RANKED).astype(int)]
        last = found.history[-1]
        row = {"trial": seed, "Q": truth, "rank": int((chosen < np.log(truth)).sum())}
        append(RANKS, row | {key: last[key] for key in ("k_hat", "ess", "mean_shift")})
    found = np.array([int(row["rank"]) for row in read(RANKS)])
    print(f"{len(found)} ranks, uniform with p = {rank_ecdf(found, NUM_RANKED).p_value:.3f}", flush=True)


def read(path):
    """The rows of a file, none where it is not there."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append(path, row):
    """Write a row to the end of a file, with the header where it is the first."""
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(row))
        if new:
            writer.writeheader()
        writer.writerow({k: f"{v:.5g}" if isinstance(v, float) else v for k, v in row.items()})
    print(row, flush=True)


def corrections(names, seeds, in_time):
    """Missing rows, all problems on the first series before any on the second."""
    there = {(row["name"], int(row["seed"])) for row in read(OUT)}
    for seed in seeds:
        for name in names:
            if (name, seed) not in there and in_time():
                append(OUT, trial(name, seed))


def rivals(names, seeds, in_time):
    """Missing rows of PMMH, of series that are corrected."""
    rows = [row for row in read(OUT) if row["name"] in names and int(row["seed"]) in seeds]
    there = {(row["name"], int(row["seed"]), int(row["times"])) for row in read(PMMH)}
    for row in sorted(rows, key=lambda row: int(row["seed"])):
        for times in RIVALS.get(row["name"], (1, 5)):
            if (row["name"], int(row["seed"]), times) not in there and in_time():
                append(PMMH, rival(row, times))


def main():
    """Compute the missing rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--series", type=int, default=10)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    cache_compilations()
    warnings.simplefilter("ignore")
    begin = time.perf_counter()

    def in_time():
        return time.perf_counter() - begin < 60 * options.minutes

    kind = options.names[0] if options.names and options.names[0] in ("ranks", "pmmh") else ""
    if kind == "ranks":
        ranks(20 if options.short else options.trials, in_time)
        return
    names = options.names[bool(kind) :] or (SHORT if options.short else (*PAPER, *OF_THE_ZOO))
    seeds = range(1 if options.short else options.series)
    (rivals if kind else corrections)(names, seeds, in_time)


if __name__ == "__main__":
    main()
