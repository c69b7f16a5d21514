"""Run what is missing of the trials, one row each.

    python -m benchmarks.peers.run [--only tsnl,sbi] [--problems linear,seir] [--budgets 100,1000,10000]
        [--seeds 3] [--minutes 10] [--again] [--out benchmarks/peers/trials.csv]

The most telling trials come first: 1,000 simulations and one seed of every method, then 100, then
10,000, then more seeds. Every trial is a process of its own with one thread; the simulator answers from
this one, and its time is added. A trial that raises, or takes more processor time than its minutes, is a
row with its error. Rows that are there are not computed again, unless `--again` drops the chosen
packages' rows first.
"""

import argparse
import importlib.metadata
import json
import os
import signal
import subprocess
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.environments import python_of, settings
from benchmarks.peers.problems import Question, question
from benchmarks.peers.simulator import Server, bank
from benchmarks.peers.table import (
    BUDGETS,
    METHODS,
    NAMES,
    OUT,
    SEEDS,
    Trial,
    key_of,
    read,
    trials,
    write,
)
from benchmarks.peers.whiten import to_z
from benchmarks.zoo.run import measure

HERE = Path(__file__).parent
BANKS = HERE.parent.parent / "out" / "peers"
ASKS = {"SNLE", "SNPE", "SMC-ABC"}  # methods that ask the simulator


def run(trial: Trial, minutes: float) -> dict[str, Any]:
    """One row."""
    asked = question(trial.problem, trial.seed)
    row = asdict(trial) | {"series": asked.series_seed, "cores": 1}
    try:
        python = python_of(trial.package)
    except (subprocess.CalledProcessError, FileNotFoundError) as error:
        said = getattr(error, "stderr", None) or str(error)
        return row | {"error": f"not installed: {said.strip()[-200:]}"}
    found, z = _draws(trial, asked, python, minutes)
    row |= found
    if z is None:
        return row
    row |= {"version": version(python, trial.package), "draws": len(np.unique(z, axis=0))}
    try:
        figures = measure(asked.reference, z[np.isfinite(z).all(axis=1)])
    except Exception as error:  # too few distinct draws for a classifier
        return row | {"error": f"not measured: {type(error).__name__}: {error}"[:200]}
    return row | {key: f"{value:.5g}" for key, value in figures.items()}


def _draws(
    trial: Trial, asked: Question, python: Path, minutes: float
) -> tuple[dict[str, Any], np.ndarray | None]:
    """What the trial took, and its draws of z, none where it failed."""
    with tempfile.TemporaryDirectory() as folder:
        facts = asdict(trial) | {
            "laws": asked.laws,
            "bank": str(bank(BANKS, trial.problem, trial.seed)),
            "socket": f"{folder}/simulator",
            "out": f"{folder}/draws.npz",
            "limit": int(60 * minutes),
        }
        server = Server(asked, trial.seed, Path(facts["socket"])) if trial.method in ASKS else None
        found, error = _child(python, trial.package, facts, minutes)
        work = 0.0
        if server:
            server.close()
            work = server.work
        if error:
            return found | {"error": error}, None
        with np.load(facts["out"], allow_pickle=False) as stored:
            found |= {"simulations": int(stored["used"]), "seconds": round(float(stored["wall"]), 2)}
            found |= {"cpu_seconds": round(float(stored["work"]) + work, 2)}
            z = stored["z"] if "z" in stored else to_z(asked.laws, stored["w"].astype(float))
    return found, z


def _child(python: Path, package: str, facts: dict[str, Any], minutes: float) -> tuple[dict, str]:
    """Its peak memory, and what it died of, if it did."""
    command = [python, HERE / f"peer_{package}.py", json.dumps(facts)]
    if package == "tsnl":
        command = [python, "-m", "benchmarks.peers.peer_tsnl", json.dumps(facts)]
    with tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen(command, env=settings(), stdout=said, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        last = (said.read().strip().splitlines() or [""])[-1]
    found = {"peak_mb": usage.ru_maxrss // 1024}
    if child.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return found, f"stopped: more than {minutes:g} minutes, or no memory"
    return found, (last[:300] or f"exit {child.returncode}") if child.returncode else ""


def version(python: Path, package: str) -> str:
    """The installed version of a package."""
    if package == "tsnl":
        return importlib.metadata.version("tsnl")
    ask = f"import importlib.metadata as m; print(m.version('{package}'))"
    return subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default=",".join(METHODS))
    parser.add_argument("--problems", default=",".join(NAMES))
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)))
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many, from 0")
    parser.add_argument("--minutes", type=float, default=10, help="of processor time for a trial")
    parser.add_argument("--again", action="store_true", help="drop the chosen packages' rows first")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    packages, problems = options.only.split(","), options.problems.split(",")
    budgets = [int(budget) for budget in options.budgets.split(",")]
    if options.again:
        write(options.out, [r for r in read(options.out) if r["package"] not in packages], "w")
    there = {key_of(row) for row in read(options.out)}
    for trial in trials(packages, problems, budgets, options.seeds):
        if key_of(asdict(trial)) in there:
            continue
        row = run(trial, options.minutes)
        write(options.out, [row], "a")
        print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)


if __name__ == "__main__":
    main()
