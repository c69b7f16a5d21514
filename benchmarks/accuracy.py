"""Accuracy of T-SNL with its default options, against reference posteriors.

    python benchmarks/accuracy.py [linear-100 linear-20 ...] [--series 10]

Each row of accuracy.csv is one observed series (seeds 0, 1, ...): total variation to the reference on a
grid for one parameter; for four, five-fold C2ST with 500 simulations and sliced Wasserstein distance, in
reference standard deviations, with more; how far the posterior mean is off in reference standard
deviations, in which quantile of the posterior the truth lies, cost, seconds, and the commit of the code.
Only the budget is given: the number in a run's name. Rows that are there already are not computed again;
accuracy.json has the summary, accuracy.md a table of it.
"""

import argparse
import csv
import json
import time
from pathlib import Path

import numpy as np

import tsnl
from benchmarks.zoo.run import code
from paper import LINEAR, PREDATOR_PREY, VOLATILITY
from paper.problems import linear_reference
from paper.references import LINEAR_GRID, VOLATILITY_GRID, density, on_grid
from tsnl.evaluate.metrics import c2st, sliced_wasserstein, total_variation

HERE = Path(__file__).parent
TARGETS = {  # (must, aim) of the median error
    "linear-20": (0.13, 0.10),
    "linear-100": (0.07, 0.05),
    "linear-1000": (0.035, 0.02),
    "linear-10000": (0.025, 0.015),
    "volatility-200": (0.065, 0.05),
    "volatility-1000": (0.06, 0.04),
    "volatility-10000": (0.04, 0.025),
    "predator-prey-500": (0.60, 0.56),
    "predator-prey-2000": (0.25, 0.15),
    "predator-prey-20000": (0.15, 0.08),
}
HEAD = "| problem | simulations | distance | series | median (quartiles) | mean | worst | must | aim |"
METRICS = {"TV": "total variation", "C2ST": "C2ST", "SW": "sliced Wasserstein"}
SETTINGS = {"linear": LINEAR, "volatility": VOLATILITY, "predator-prey": PREDATOR_PREY}
RUNS = {
    f"{kind}-{budget}": (SETTINGS[kind], tsnl.TSNL(budget=int(budget)))
    for kind, budget in (name.rsplit("-", 1) for name in TARGETS)
}
FIELDS = [
    "run",
    "series",
    "metric",
    "error",
    "mean_off",
    "sd_ratio",
    "truth_quantile",
    "cost",
    "seconds",
    "code",
]


def compare_grid(result, grid, reference_log_p):
    """Total variation, and mean and sd of z against the reference's."""
    p, q = density(reference_log_p), density(on_grid(result.posterior.log_density, grid))
    moments = []
    for f in (p, q):
        f = f / np.trapezoid(f, grid)
        mean = np.trapezoid(f * grid, grid)
        moments.append((mean, np.sqrt(np.trapezoid(f * (grid - mean) ** 2, grid))))
    (mean_p, sd_p), (mean_q, sd_q) = moments
    return total_variation(p, q, grid), (mean_q - mean_p) / sd_p, sd_q / sd_p


def compare_draws(result, reference, metric):
    """The error of log rates, and the largest offset of a mean in reference sds.

    For C2ST a thousand draws of each, nearly independent: Metropolis chains repeat themselves, and a
    classifier would know a repeated point by heart. Ours are drawn by NUTS from the posterior that was
    found.
    """
    p = np.log(reference.astype(float))
    q = np.stack([np.log(one.ravel()) for one in result.draws.values()], axis=1).astype(float)
    if metric == "SW":
        return sliced_wasserstein(p, q, scale=p.std(axis=0)), *_moments_off(p, q)
    options = tsnl.MCMC(transition="nuts", num_chains=4, num_warmup=400, num_draws=500)
    draws = result.posterior.sample(seed=0, start=None, options=options)
    q = np.log(np.stack([draws[name].ravel() for name in draws], axis=1).astype(float))
    p, q = (x[np.linspace(0, len(x) - 1, 1000).astype(int)] for x in (p, q))
    return c2st(p, q), *_moments_off(p, q)


def _moments_off(p, q):
    """The offset of the mean that is furthest off, and the ratio of sds that is furthest from one."""
    off = (q.mean(axis=0) - p.mean(axis=0)) / p.std(axis=0)
    ratio = q.std(axis=0) / p.std(axis=0)
    return off[np.argmax(np.abs(off))], ratio[np.argmax(np.abs(np.log(ratio)))]


def evaluate(name, seed, setting, method):
    """One row, and the result that it is about."""
    problem = setting.observe(seed)
    start = time.perf_counter()
    result = tsnl.infer(problem.model, problem.prior, problem.series, method, seed=seed)
    seconds = time.perf_counter() - start
    if setting is LINEAR:
        exact = linear_reference(problem, LINEAR_GRID)
        metric, figures = "TV", compare_grid(result, LINEAR_GRID, exact)
    elif setting is VOLATILITY:
        stored = np.load(HERE / "data" / "volatility.npz")
        np.testing.assert_array_equal(stored[f"series_{seed}"], problem.series)
        metric, figures = "TV", compare_grid(result, VOLATILITY_GRID, stored[f"log_posterior_{seed}"])
    else:
        stored = np.load(HERE / "data" / "predator_prey.npz")
        np.testing.assert_array_equal(stored[f"series_{seed}"], problem.series)
        metric = "C2ST" if name.endswith("-500") else "SW"
        figures = compare_draws(result, stored[f"draws_{seed}"], metric)
    truth = np.asarray(problem.prior.coordinates(setting.truth))
    draws = np.stack([d.ravel() for d in result.coordinates().values()], axis=1)
    quantile = (draws < truth).mean(axis=0)
    extreme = quantile[np.argmax(np.abs(quantile - 0.5))]
    row = [name, seed, metric, *figures, extreme, result.cost, seconds, code()]
    return dict(zip(FIELDS, row, strict=True)), result


def summarise(rows):
    """Median and quartiles of each run, beside its targets."""
    summary = {}
    for name in RUNS:
        errors = np.array([float(r["error"]) for r in rows if r["run"] == name])
        if not len(errors):
            continue
        quantiles = [float(r["truth_quantile"]) for r in rows if r["run"] == name]
        must, aim = TARGETS[name]
        summary[name] = {
            "metric": next(r["metric"] for r in rows if r["run"] == name),
            "series": len(errors),
            "mean": round(float(np.mean(errors)), 4),
            "median": round(float(np.median(errors)), 4),
            "quartiles": np.percentile(errors, [25, 75]).round(4).tolist(),
            "worst": round(float(errors.max()), 4),
            "must": must,
            "aim": aim,
            "truth_outside_99.9%": int(sum(q < 0.0005 or q > 0.9995 for q in quantiles)),
            "median_seconds": round(
                float(np.median([float(r["seconds"]) for r in rows if r["run"] == name])), 1
            ),
        }
    return summary


def as_table(summary):
    """The summary in Markdown."""
    lines = [HEAD, "|---|---:|---|---:|---|---:|---:|---:|---:|"]
    for name, one in summary.items():
        kind, simulations = name.rsplit("-", 1)
        low, high = one["quartiles"]
        median = f"**{one['median']:.3f}** ({low:.3f} to {high:.3f})"
        cells = [kind, f"{int(simulations):,}", METRICS[one["metric"]], one["series"], median]
        cells += [f"{one['mean']:.3f}", f"{one['worst']:.3f}", one["must"], one["aim"]]
        lines.append(_row(cells))
    return "\n".join(lines) + "\n"


def _row(cells):
    return "| " + " | ".join(map(str, cells)) + " |"


def main():
    """Compute the missing rows, then the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", default=list(RUNS))
    parser.add_argument("--series", type=int, default=10)
    options = parser.parse_args()
    table = HERE / "accuracy.csv"
    rows = list(csv.DictReader(table.open())) if table.exists() else []
    done = {(r["run"], int(r["series"])) for r in rows}
    for name in options.runs or list(RUNS):
        for seed in range(options.series):
            if (name, seed) in done:
                continue
            row, _ = evaluate(name, seed, *RUNS[name])
            print({k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
            rows.append(row)
            with table.open("w", newline="") as file:
                writer = csv.DictWriter(file, FIELDS)
                writer.writeheader()
                writer.writerows(rows)
    summary = summarise(rows)
    (HERE / "accuracy.json").write_text(json.dumps(summary, indent=2) + "\n")
    (HERE / "accuracy.md").write_text(as_table(summary))
    print(json.dumps(summary, indent=2))


if __name__ == "__main__":
    main()
