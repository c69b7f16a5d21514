"""Forecasts and smoothed states of T-SNL on the predator-prey problem, with its default options.

    python benchmarks/forecasts.py [fixed prior] [--series 20] [--out benchmarks/forecasts.csv]

Each row of forecasts.csv is one simulated series (seeds 0, 1, ...), at the fixed truth of the problem or
at a truth drawn from its prior: 50 rows of noisy prey counts to learn from, then 10 that are held out.
It has, for both sources of forecasts, the share of held-out rows inside the central 90 % and 50 % bands
and the mean CRPS, beside that of the rows seen so far ("climate"); the share of the true path inside the
90 % bands of the smoothed predators, which are never observed, and of the prey; the mean width of the
predators' bands; and the seconds of each part. A series that fails up to row 51 is passed over. Rows
that are there already are not computed again; forecasts.json has the summary.

Bands of a right posterior cover at their level on average over truths from the prior. At one truth they
need not: where the data say little, as of the number of predators, a truth in the middle of the prior is
covered more often.
"""

import argparse
import csv
import json
import time
from pathlib import Path

import jax
import numpy as np

import tsnl
from paper import PREDATOR_PREY
from tsnl.evaluate.metrics import inside

HERE = Path(__file__).parent
METHOD = tsnl.TSNL(rounds=5, simulations=100, lag=8, transform="asinh")
HORIZON = 10
TRUTHS = ("fixed", "prior")
SOURCES = ("kernel", "simulator")
TARGET = (0.80, 0.97)  # of the 90 % bands, over all series
COVERAGES = ["kernel_90", "simulator_90", "predators_90", "prey_90"]
FIGURES = [
    *(f"{source}_{figure}" for source in SOURCES for figure in ("90", "50", "crps", "seconds")),
    "climate_crps",
    "predators_90",
    "prey_90",
    "predators_width",
    "states_seconds",
    "infer_seconds",
]
FIELDS = ["truth", "series", *FIGURES]


def simulate(truth, seed):
    """Series and states, at the truth of the problem or at one from its prior."""
    model, prior, length = PREDATOR_PREY.model, PREDATOR_PREY.prior, PREDATOR_PREY.length
    theta = None if truth == "fixed" else prior.sample(jax.random.key(10_000 + seed))
    series, states = model.simulate(seed=seed, length=length + HORIZON, theta=theta, return_states=True)
    return np.asarray(series, dtype=float), np.asarray(states, dtype=float)


def evaluate(truth, seed, series, states):
    """One row."""
    length = PREDATOR_PREY.length
    clock = time.perf_counter()
    result = tsnl.infer(PREDATOR_PREY.model, PREDATOR_PREY.prior, series[:length], METHOD, seed=seed)
    row = {"truth": truth, "series": seed, "infer_seconds": time.perf_counter() - clock}
    seen, held_out = result.problem.series, series[length:]
    for source in SOURCES:
        clock = time.perf_counter()
        scores = result.forecast(HORIZON, source, seed=seed).score(held_out)
        row |= {
            f"{source}_90": scores.coverage[0.9],
            f"{source}_50": scores.coverage[0.5],
            f"{source}_crps": float(np.nanmean(scores.crps)),
            f"{source}_seconds": time.perf_counter() - clock,
        }
    climate = tsnl.Forecast(np.repeat(seen[:, None], HORIZON, axis=1), seen, "simulator")
    clock = time.perf_counter()
    found = result.states("smooth", seed=seed)
    low, high = found.quantiles([0.05, 0.95])
    covered = inside(found.draws, states[:length]).mean(axis=0)
    return row | {
        "climate_crps": float(np.nanmean(climate.score(held_out).crps)),
        "predators_90": float(covered[0]),
        "prey_90": float(covered[1]),
        "predators_width": float((high - low)[:, 0].mean()),
        "states_seconds": time.perf_counter() - clock,
    }


def summarise(rows):
    """Means over the series, and the coverages beside their target."""
    table = {name: np.array([float(row[name]) for row in rows]) for name in FIGURES}
    means = {name: round(float(values.mean()), 4) for name, values in table.items()}
    met = {name: bool(TARGET[0] <= table[name].mean() <= TARGET[1]) for name in COVERAGES}
    return {"series": len(rows), "target": TARGET, **means, "met": met}


def main():
    """Compute the missing rows, then the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("truths", nargs="*", default=list(TRUTHS))
    parser.add_argument("--series", type=int, default=20)
    parser.add_argument("--out", type=Path, default=HERE / "forecasts.csv")
    options = parser.parse_args()
    rows = list(csv.DictReader(options.out.open())) if options.out.exists() else []
    done = {(row["truth"], int(row["series"])) for row in rows}
    for truth in options.truths or list(TRUTHS):
        for seed in range(options.series):
            series, states = simulate(truth, seed)
            if (truth, seed) in done or np.isnan(series[: PREDATOR_PREY.length + 1]).any():
                continue
            row = evaluate(truth, seed, series, states)
            print({k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
            rows.append(row)
            with options.out.open("w", newline="") as file:
                writer = csv.DictWriter(file, FIELDS)
                writer.writeheader()
                writer.writerows(rows)
    kinds = {truth: [row for row in rows if row["truth"] == truth] for truth in TRUTHS}
    summary = {truth: summarise(found) for truth, found in kinds.items() if found}
    options.out.with_suffix(".json").write_text(json.dumps(summary, indent=2) + "\n")
    print(json.dumps(summary, indent=2))


if __name__ == "__main__":
    main()
