"""Accuracy against the lag, and what each rule for choosing it picks.

    python benchmarks/lags.py [linear-100 volatility-200 predator-prey-500] [--series 3]

As accuracy.py, whose budgets and references it uses, with the lag given or found by a rule, on observed
series 0, 1, ... Rows of lags.csv that are there already are not computed again.
"""

import argparse
import csv
from dataclasses import replace
from pathlib import Path

import accuracy

FILE = Path(__file__).parent / "lags.csv"
LAGS = (1, 2, 4, 8, 16, "acf", "validation", "aic", "bic")
FIELDS = ["run", "series", "rule", "lag", "metric", "error", "loss", "seconds"]


def evaluate(name, seed, lag):
    """One row."""
    setting, method = accuracy.RUNS[name]
    row, result = accuracy.evaluate(name, seed, setting, replace(method, lag=lag))
    chosen = {"rule": lag, "lag": result.lag[0], "loss": result.history[-1]["loss"]}
    return {k: v for k, v in (row | chosen).items() if k in FIELDS}


def main():
    """Fill in the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="*", default=["linear-100", "volatility-200", "predator-prey-500"])
    parser.add_argument("--series", type=int, default=3)
    options = parser.parse_args()
    rows = list(csv.DictReader(FILE.open())) if FILE.exists() else []
    done = {(r["run"], int(r["series"]), r["rule"]) for r in rows}
    for name in options.runs:
        for seed in range(options.series):
            for lag in LAGS:
                if (name, seed, str(lag)) in done:
                    continue
                rows.append(evaluate(name, seed, lag))
                print(rows[-1], flush=True)
                with FILE.open("w", newline="") as file:
                    writer = csv.DictWriter(file, FIELDS)
                    writer.writeheader()
                    writer.writerows(rows)


if __name__ == "__main__":
    main()
