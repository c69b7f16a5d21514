"""How far a correction brings T-SNL's posterior to the reference, and what plain PMMH would cost.

    python benchmarks/correction.py [names] [--series 10] [--rivals 1,5,20] [--short]
    python benchmarks/correction.py ranks [--trials 200]

Each row of correction.csv is one observed series (seeds 0, 1, ...; of the zoo's models the one series
with a reference, and as many seeds of the method): sliced Wasserstein distance to the reference in its
standard deviations before and after, k-hat, effective size and cost of the correction, and the distance
of PMMH with 1, 5 and 20 times the calls of the dynamics that T-SNL and its correction made together.
`ranks` asks on linear series drawn from the prior whether the truth's rank among corrected draws is
uniform: a row of correction_ranks.csv each, one kernel for all. Rows that are there are not computed
again. `--short` is one series of two problems without rivals beyond equal cost, and twenty ranks.
"""

import argparse
import csv
import time
import warnings
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
from tsnl.problem import Problem
from tsnl.runtime.compilation import cache_compilations
from tsnl.runtime.progress import Silent

HERE = Path(__file__).parent
OUT, RANKS = HERE / "correction.csv", HERE / "correction_ranks.csv"
PAPER = {
    "linear": (LINEAR, tsnl.TSNL(rounds=5, simulations=20)),
    "volatility": (VOLATILITY, tsnl.TSNL(rounds=4, simulations=50)),
    "predator-prey": (PREDATOR_PREY, tsnl.TSNL(rounds=5, simulations=100)),
}
OF_THE_ZOO = ("leverage", "student_ar", "poisson_ar", "ricker")
ZOO_METHOD = tsnl.TSNL(rounds=5, simulations=100)
SHORT = ("linear", "volatility")
NUM_RANKED = 39


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


def distance(reference, result):
    """Of all draws of z."""
    z = result.unconstrained().reshape(-1, reference.shape[1]).astype(float)
    return sliced_wasserstein(reference, z, scale=reference.std(axis=0))


def trial(name, seed, rivals):
    """One row."""
    problem, reference, method = pose(name, seed)
    inputs = None if problem.inputs is None else problem.inputs[0]
    question = (problem.model, problem.prior, problem.series)
    first = tsnl.infer(*question, method, inputs=inputs, seed=seed)
    begin = time.perf_counter()
    found = first.correct(seed=seed)
    last = found.history[-1]
    row = {
        "name": name,
        "seed": seed,
        "before": distance(reference, first),
        "after": distance(reference, found),
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
    for times in rivals:
        if row["cost_correction"]:
            rival = tsnl.PMMH(max_cost=times * found.cost)
            other = tsnl.infer(*question, rival, inputs=inputs, seed=seed)
            row[f"pmmh_{times}"] = distance(reference, other)
    return row


def ranks(num_trials):
    """Missing rows of the ranks, then their p-value."""
    problem = LINEAR.observe(0)
    method = tsnl.TSNL(rounds=1, simulations=1000)
    trained = tsnl.infer(problem.model, problem.prior, problem.series, method, seed=0)
    there = {int(row["trial"]) for row in read(RANKS)}
    for seed in sorted(set(range(num_trials)) - there):
        truth = float(LINEAR.prior.sample(jax.random.key(seed))["Q"])
        series = LINEAR.model.simulate(seed=10_000 + seed, length=LINEAR.length, theta={"Q": truth})
        problem = Problem.of(LINEAR.model, LINEAR.prior, series)
        posterior = trained.posterior.condition(series)
        z = np.log(posterior.sample(seed=20_000 + seed)["Q"])[:, :, None]
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


def append(path, row, fields=None):
    """Write a row to the end of a file, with the header where it is the first."""
    fields, new = fields or list(row), not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, fields)
        if new:
            writer.writeheader()
        writer.writerow({k: f"{v:.5g}" if isinstance(v, float) else v for k, v in row.items()})


FIELDS = [
    "name", "seed", "before", "after", "k_hat", "ess", "draws", "moves", "mean_shift", "num_particles",
    "cost_first", "cost_correction", "seconds", "pmmh_1", "pmmh_5", "pmmh_20",
]  # fmt: skip


def main():
    """Compute the missing rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--series", type=int, default=10)
    parser.add_argument("--rivals", default="1,5,20")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    cache_compilations()
    warnings.simplefilter("ignore")
    if options.names == ["ranks"]:
        ranks(20 if options.short else options.trials)
        return
    names = options.names or (SHORT if options.short else (*PAPER, *OF_THE_ZOO))
    rivals = (1,) if options.short else tuple(map(int, options.rivals.split(",")))
    there = {(row["name"], int(row["seed"])) for row in read(OUT)}
    for name in names:
        for seed in range(1 if options.short else options.series):
            if (name, seed) not in there:
                row = trial(name, seed, rivals)
                append(OUT, row, FIELDS)
                print(row, flush=True)


if __name__ == "__main__":
    main()
