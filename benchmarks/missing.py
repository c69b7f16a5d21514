"""Accuracy of T-SNL with missing data on the linear problem, against the exact posterior.

    python benchmarks/missing.py [--series 10]

100 simulations, default options. Two patterns: 30 % of the entries missing at random, and one gap of 20
rows. The reference is the Kalman filter with missing data; beside it, the plain method on a series with
its gaps filled by linear interpolation. Writes missing.csv and missing.json.
"""

import argparse
import csv
import json
from pathlib import Path

import numpy as np
from accuracy import compare_grid

import tsnl
from paper import LINEAR
from paper.problems import linear_reference
from tsnl.problem import Problem

HERE = Path(__file__).parent
GRID = np.linspace(np.log(1e-3), np.log(5.0), 600)


def pattern(name, seed):
    """Which rows are missing."""
    rng = np.random.default_rng(seed)
    rows = np.arange(LINEAR.length)
    if name == "random":
        return rng.uniform(size=LINEAR.length) < 0.3
    first = rng.integers(10, LINEAR.length - 30)
    return (rows >= first) & (rows < first + 20)


def evaluate(name, seed):
    """Total variation of the method that knows of gaps, and of the one that is given filled ones."""
    series = LINEAR.model.simulate(seed=seed, length=LINEAR.length).astype(float)
    missing = pattern(name, seed)
    gappy = np.where(missing[:, None], np.nan, series)
    times = np.arange(LINEAR.length)
    filled = np.interp(times, times[~missing], series[~missing, 0])[:, None]
    exact = linear_reference(Problem.of(LINEAR.model, LINEAR.prior, gappy), GRID)
    row = {"pattern": name, "series": seed, "missing": int(missing.sum())}
    for label, data in (("gaps", gappy), ("interpolated", filled)):
        result = tsnl.infer(LINEAR.model, LINEAR.prior, data, tsnl.TSNL(), seed=seed)
        row[label] = float(compare_grid(result, GRID, exact)[0])
    return row


def main():
    """Both patterns, every series."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=10)
    options = parser.parse_args()
    rows = []
    for name in ("random", "gap"):
        for seed in range(options.series):
            rows.append(evaluate(name, seed))
            print(rows[-1], flush=True)
    with (HERE / "missing.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    summary = {
        name: {
            label: round(float(np.median([r[label] for r in rows if r["pattern"] == name])), 4)
            for label in ("gaps", "interpolated")
        }
        for name in ("random", "gap")
    }
    (HERE / "missing.json").write_text(
        json.dumps({"series": options.series, **summary}, indent=1) + "\n"
    )
    print(summary)


if __name__ == "__main__":
    main()
