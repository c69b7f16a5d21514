"""Do the checks fire when they should, and keep quiet when they should?

    python benchmarks/diagnostics.py [correct short-lag few-simulations wrong-model] [--series 10]

Each row of diagnostics.csv is one observed series of one set-up, with the verdict of every check:

- correct: the linear problem, 100 simulations. A false alarm is any "fail".
- short-lag: the predator-prey problem with one row of the past and no summaries of the rest.
- few-simulations: the predator-prey problem with 2 rounds of 10 simulations.
- wrong-model: the linear problem, 100 simulations, data with 5 % of the rows replaced by outliers
  (8 sds of the series away, to either side).

The others count as found where any check fails, or where an intended one says "look". Rows that are
there already are not computed again; diagnostics.json has the summary. The thresholds are p-values and
shifts in posterior sds (`tsnl.checks.verdict`), fixed on other series than these.
"""

import argparse
import csv
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import tsnl
from paper import LINEAR, PREDATOR_PREY

HERE = Path(__file__).parent
LINEAR_100 = tsnl.TSNL(rounds=5, simulations=20)
PREY = tsnl.TSNL(rounds=5, simulations=100, transform="asinh")
SETUPS = {  # problem, method, share of outliers, intended checks
    "correct": (LINEAR, LINEAR_100, 0.0, ()),
    "short-lag": (PREDATOR_PREY, replace(PREY, lag=1, decays=()), 0.0, ("lag", "one step ahead")),
    "few-simulations": (PREDATOR_PREY, replace(PREY, rounds=2, simulations=10), 0.0, ("budget",)),
    "wrong-model": (LINEAR, LINEAR_100, 0.05, ("one step ahead", "windows", "replicates")),
}
CHECKS = ("one step ahead", "windows", "lag", "budget", "replicates", "sampler")
FIELDS = ["setup", "series", *CHECKS, "found", "seconds_infer", "seconds_check", "cost", "figures"]
FIRST = 100  # seed of the first series


def with_outliers(series, share, seed):
    """The series with some rows far out."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(series), round(share * len(series)), replace=False)
    changed = series.copy()
    changed[rows] += 8 * series.std(axis=0) * rng.choice([-1, 1], (len(rows), series.shape[1]))
    return changed


def evaluate(name, number):
    """One row."""
    setting, method, share, intended = SETUPS[name]
    problem = setting.observe(FIRST + number)
    series = with_outliers(problem.series, share, number)
    clock = [time.perf_counter()]
    result = tsnl.infer(problem.model, problem.prior, series, method, seed=number, progress=False)
    clock.append(time.perf_counter())
    report = result.check(seed=number)
    clock.append(time.perf_counter())
    print(f"--- {name} {number}\n{report}", flush=True)
    verdicts = {v.name: v.verdict for v in report}
    found = report.worst == "fail" or any(verdicts.get(check) == "look" for check in intended)
    spent = np.diff(clock).round(1)
    return {
        "setup": name,
        "series": number,
        **{check: verdicts.get(check, "") for check in CHECKS},
        "found": found,
        "seconds_infer": spent[0],
        "seconds_check": spent[1],
        "cost": report.cost,
        "figures": json.dumps({v.name: v.figures for v in report}),
    }


def summarise(rows):
    """Of each set-up: how often it was found, and how often each check looked or failed."""
    summary = {}
    for name in SETUPS:
        these = [r for r in rows if r["setup"] == name]
        if these:
            summary[name] = {
                "series": len(these),
                "found": np.mean([str(r["found"]) == "True" for r in these]).round(3),
                "target": "at most 0.1" if name == "correct" else "at least 0.8",
                "verdicts": {
                    check: {v: sum(r[check] == v for r in these) for v in ("pass", "look", "fail")}
                    for check in CHECKS
                },
            }
    return summary


def main():
    """Compute the missing rows, then the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("setups", nargs="*", default=list(SETUPS))
    parser.add_argument("--series", type=int, default=10)
    options = parser.parse_args()
    table = HERE / "diagnostics.csv"
    rows = list(csv.DictReader(table.open())) if table.exists() else []
    done = {(r["setup"], int(r["series"])) for r in rows}
    for number in range(options.series):
        for name in options.setups or list(SETUPS):
            if (name, number) in done:
                continue
            rows.append(evaluate(name, number))
            with table.open("w", newline="") as file:
                writer = csv.DictWriter(file, FIELDS)
                writer.writeheader()
                writer.writerows(rows)
    summary = summarise(rows)
    (HERE / "diagnostics.json").write_text(json.dumps(summary, indent=2) + "\n")
    print(json.dumps(summary, indent=2))


if __name__ == "__main__":
    main()
