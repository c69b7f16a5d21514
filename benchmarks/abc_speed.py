"""Series per second of SMC-ABC against pyABC on the linear problem.

    python benchmarks/abc_speed.py

Five generations of 1,000 particles, series of length 100. pyABC runs in a virtual environment of its
own, through the same tolerances, with a simulator that has no loop over time; on one core it uses its
sampler for one core. The time is that of the whole run, with all that a method does between its
simulations. Ours is timed after one run that compiles. The two take turns, and the medians are
compared, in seconds and in seconds of the processor, which other work on the machine leaves alone
(they are those of one process: compare them on one core). Writes abc_speed.json.
"""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from foundation import rival_python

import tsnl
from paper import LINEAR

HERE = Path(__file__).parent
NAMES = ("seconds", "processor_seconds", "simulations", "mean_log_q", "sd_log_q", "generations")
METHOD = tsnl.SMCABC(particles=1000, max_generations=5, stop="never")


def ours(problem):
    """Seconds, seconds of the processor, and the result."""
    start, work = time.perf_counter(), time.process_time()
    found = tsnl.infer(problem.model, problem.prior, problem.series, METHOD, seed=0, progress=False)
    return time.perf_counter() - start, time.process_time() - work, found


def pyabc(data):
    """Seconds, seconds of the processor, simulations, mean and sd of log Q, and generations."""
    command = [rival_python("pyabc"), HERE / "rival_pyabc.py", data]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(x) for x in run.stdout.splitlines()[-1].split()]


def main():
    """Alternate, then compare the medians."""
    problem = LINEAR.observe(0)
    cold, _, found = ours(problem)
    tolerances = [record["tolerance"] for record in found.history]
    simulations = sum(record["simulations"] for record in found.history)
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder) / "data.npz")
        np.savez(data, y=problem.series[:, 0], tolerances=tolerances, particles=METHOD.particles)
        times = [(ours(problem)[:2], pyabc(data)) for _ in range(3)]
    seconds, work = np.median([t[0] for t in times], axis=0)
    rival = dict(zip(NAMES, np.median([t[1] for t in times], axis=0), strict=True))
    z = np.log(found.draws["Q"])
    us = [seconds, work, simulations, z.mean(), z.std(), len(tolerances)]
    mine = dict(zip(NAMES, us, strict=True))
    for one in (mine, rival):
        one["series_per_second"] = one["simulations"] / one["seconds"]
        one["series_per_processor_second"] = one["simulations"] / one["processor_seconds"]
    out = {
        "cores": len(os.sched_getaffinity(0)),
        "tolerances": tolerances,
        "ours": mine | {"seconds_with_compilation": cold},
        "pyabc": rival,
        "times_the_series_per_second": mine["series_per_second"] / rival["series_per_second"],
        "times_the_series_per_processor_second": mine["series_per_processor_second"]
        / rival["series_per_processor_second"],
        "asked": 10,
        "measured_at": time.strftime("%Y-%m-%d"),
    }
    text = json.dumps(out, indent=2, default=float)
    (HERE / "abc_speed.json").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
