"""What it costs to stop training early: T-SNL as in the experiments, and with today's default patience.

    python benchmarks/early_stopping.py [--series 10] [--five-assets 2]

The experiments stop a member after four looks at its held-out windows without improvement
(`paper.costs.STOPPING`); their distances to the reference are read from docs/results. Here
the same trials are run without a stop: same series, same seeds, same budgets. Writes
early_stopping.json.
"""

import argparse
import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

import tsnl
from paper.costs import make_method
from paper.measures import solve
from paper.trial import Trial

HERE = Path(__file__).parent
REFERENCES = HERE.parent / "out" / "experiments" / "references"
CASES = [
    (table, problem, budget)
    for budget in (10_000, 100_000)
    for table, problem in (("lgssm", "linear"), ("svssm", "volatility"), ("lvssm", "predator-prey"))
] + [("svssm", "volatility-5", 100_000)]


def before(table, problem, budget):
    """The distance of each series in the committed table."""
    with (HERE.parent / "docs" / "results" / f"{table}.csv").open(newline="") as file:
        return {
            int(row["seed"]): float(row["distance"])
            for row in csv.DictReader(file)
            if (row["problem"], row["method"], row["budget"]) == (problem, "T-SNL", str(budget))
        }


def main():
    """Run the trials, and compare them with the tables'."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=10)
    parser.add_argument("--five-assets", type=int, default=2)
    options = parser.parse_args()
    found = {}
    for table, problem, budget in CASES:
        old = before(table, problem, budget)
        new = {}
        for seed in range(options.five_assets if problem == "volatility-5" else options.series):
            method = replace(make_method("T-SNL", budget, problem), training=tsnl.Training())
            row = solve(Trial(problem, "T-SNL", budget, seed), method, REFERENCES).row
            new[seed] = row["distance"]
            print(problem, budget, seed, round(old[seed], 3), round(new[seed], 3), flush=True)
        change = np.array([new[seed] - old[seed] for seed in new])
        found[f"{problem}, {budget} calls"] = {
            "series": len(new),
            "stopped_early": round(float(np.mean([old[seed] for seed in new])), 4),
            "to_the_end": round(float(np.mean(list(new.values()))), 4),
            "change": round(float(change.mean()), 4),
            "standard_error": round(float(change.std(ddof=1) / np.sqrt(len(change))), 4),
        }
        (HERE / "early_stopping.json").write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
