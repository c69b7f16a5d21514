"""Infer every entry of the zoo with default options, and measure against its reference.

    python -m benchmarks.zoo.run [--half tune] [--names a,b] [--simulations 100,500,2000,10000]
        [--method-seeds 1] [--form model] [--out benchmarks/zoo/trials.csv]

One row for each trial, written at once, with the commit of the code that made it; rows that are there
are not computed again. A trial that raises is a row with its error and no figures. All distances are
between draws of the unconstrained z. `--form` gives the run the model with all its laws, without its
density, or as a function alone (see `benchmarks.zoo.forms`).
"""

import argparse
import csv
import subprocess
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import tsnl
from benchmarks.zoo import ZOO, Entry
from benchmarks.zoo.forms import FORMS, as_form
from benchmarks.zoo.references import load
from tsnl.evaluate.metrics import c2st, sliced_wasserstein

OUT = Path(__file__).parent / "trials.csv"
FIELDS = (
    "name", "half", "form", "simulations", "seed", "sliced_wasserstein", "c2st", "worst_bias",
    "worst_sd_ratio", "seconds", "r_hat", "ess", "gain", "moved", "code", "error",
)  # fmt: skip
C2ST_DRAWS = 1000


def method_for(simulations: int) -> tsnl.TSNL:
    """The defaults with so many simulations in all."""
    return tsnl.TSNL(budget=simulations)


def measure(reference: np.ndarray, z: np.ndarray) -> dict[str, float]:
    """How far draws are from the reference's, in its standard deviations where there is a unit."""
    sd = reference.std(axis=0)
    bias = np.abs(z.mean(axis=0) - reference.mean(axis=0)) / sd
    ratio = z.std(axis=0) / sd
    worst = int(np.argmax(np.abs(np.log(np.maximum(ratio, 1e-12)))))
    distinct = [_some(np.unique(draws, axis=0)) for draws in (reference, z)]
    n = min(map(len, distinct))
    return {
        "sliced_wasserstein": sliced_wasserstein(reference, z, scale=sd),
        "c2st": c2st(*(draws[:n] for draws in distinct)),
        "worst_bias": float(bias.max()),
        "worst_sd_ratio": float(ratio[worst]),
    }


def _some(draws: np.ndarray) -> np.ndarray:
    return np.random.default_rng(0).permutation(draws)[:C2ST_DRAWS]


def infer(entry: Entry, form: str, simulations: int, seed: int) -> tuple[np.ndarray, dict[str, float]]:
    """Draws of z, (n, size), and how sampling went."""
    result = tsnl.infer(
        as_form(entry.model, form), entry.prior, entry.series, method_for(simulations),
        inputs=entry.inputs, seed=seed, progress=False,
    )  # fmt: skip
    z = np.asarray(result.posterior.z, dtype=np.float64).reshape(-1, entry.prior.size)
    if not np.isfinite(z).all():
        raise FloatingPointError(f"{(~np.isfinite(z)).any(axis=1).sum()} draws are not finite")
    last = result.history[-1] if result.history else {}
    facts = last | last.get("states", {})  # moved is there where the law of the states was taken
    return z, {key: float(facts.get(key, np.nan)) for key in ("r_hat", "ess", "gain", "moved")}


def trial(entry: Entry, form: str, simulations: int, seed: int) -> dict[str, Any]:
    """One row of the table."""
    row: dict[str, Any] = {
        "name": entry.name,
        "half": entry.half,
        "form": form,
        "simulations": simulations,
        "seed": seed,
        "code": code(),
    }
    reference, begin = load(entry.name).draws, time.perf_counter()
    try:
        z, sampling = infer(entry, form, simulations, seed)
    except Exception as error:  # the table goes on: a failure is a finding
        seconds = time.perf_counter() - begin
        text = f"{type(error).__name__}: {error}"[:300].replace("\n", " ")
        return row | {"seconds": round(seconds, 1), "error": text}
    seconds = time.perf_counter() - begin
    found = measure(reference, z) | sampling
    return row | {key: f"{value:.5g}" for key, value in found.items()} | {"seconds": round(seconds, 1)}


def code() -> str:
    """The commit of the code that runs, marked where code has changed since; empty without git."""
    commit = _git("describe", "--always", "--exclude=*")
    return commit + ("-dirty" if _git("status", "--porcelain", "--", ":/*.py") else "")


def _git(*call: str) -> str:
    found = subprocess.run(("git", *call), cwd=OUT.parent, capture_output=True, text=True, check=False)
    return found.stdout.strip()


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a file, none where it is not there."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append(path: Path, row: dict[str, Any]) -> None:
    """Write a row to the end of a file, with the header where it is the first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if new:
            writer.writeheader()
        writer.writerow(row)


def main() -> None:
    """Run what is missing of the trials."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--half", choices=["tune", "report", "paper"])
    parser.add_argument("--names", default="")
    parser.add_argument("--simulations", default="100,500,2000,10000")
    parser.add_argument("--method-seeds", type=int, default=1, help="how many seeds, from 0")
    parser.add_argument("--form", choices=FORMS, default="model", help="what the run is given of it")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = [name for name in options.names.split(",") if name] or list(ZOO)
    chosen = [ZOO[name] for name in names if options.half in (None, ZOO[name].half)]
    entries = [entry for entry in chosen if entry.path.exists()]
    for entry in chosen:
        if not entry.path.exists():
            print(f"{entry.name} is left out: it has no reference yet", flush=True)
    form, rows = options.form, read(options.out)
    there = {(row["name"], row["form"], int(row["simulations"]), int(row["seed"])) for row in rows}
    for simulations in map(int, options.simulations.split(",")):
        for entry in entries:
            for seed in range(options.method_seeds):
                if (entry.name, form, simulations, seed) in there:
                    continue
                row = trial(entry, form, simulations, seed)
                append(options.out, row)
                print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)


if __name__ == "__main__":
    main()
