"""Series per second of SMC-ABC against pyABC on the linear problem.

    python benchmarks/abc_speed.py

Five generations of 1,000 particles, series of length 100. pyABC runs in a virtual environment of its
own, through the same tolerances, with a simulator that has no loop over time; on one core it uses its
sampler for one core. The time is that of the whole run, with all that a method does between its
simulations. Ours is timed after one run that compiles. The two take turns, and the medians are
compared. Writes abc_speed.json.
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
from tsnl.experiments import LINEAR

HERE = Path(__file__).parent
METHOD = tsnl.SMCABC(particles=1000, max_generations=5, stop="never")


def ours(problem):
    """Seconds, and the result."""
    start = time.perf_counter()
    found = tsnl.infer(problem.model, problem.prior, problem.series, METHOD, seed=0, progress=False)
    return time.perf_counter() - start, found


def pyabc(data):
    """Seconds, simulations, mean and sd of log Q, and generations."""
    command = [rival_python("pyabc"), HERE / "rival_pyabc.py", data]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(x) for x in run.stdout.splitlines()[-1].split()]


def main():
    """Alternate, then compare the medians."""
    problem = LINEAR.observe(0)
    cold, found = ours(problem)
    tolerances = [record["tolerance"] for record in found.history]
    simulations = sum(record["simulations"] for record in found.history)
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder) / "data.npz")
        np.savez(data, y=problem.series[:, 0], tolerances=tolerances, particles=METHOD.particles)
        times = [(ours(problem)[0], pyabc(data)) for _ in range(3)]
    seconds = float(np.median([t[0] for t in times]))
    rates = [t[1][1] / t[1][0] for t in times]
    rival = float(np.median([t[1][0] for t in times]))
    z = np.log(found.draws["Q"])
    out = {
        "cores": len(os.sched_getaffinity(0)),
        "generations": [len(tolerances), times[0][1][4]],
        "tolerances": tolerances,
        "ours": {
            "seconds": seconds,
            "seconds_with_compilation": cold,
            "simulations": simulations,
            "series_per_second": simulations / seconds,
            "mean_log_q": z.mean(),
            "sd_log_q": z.std(),
        },
        "pyabc": {
            "seconds": rival,
            "simulations": times[0][1][1],
            "series_per_second": float(np.median(rates)),
            "mean_log_q": times[0][1][2],
            "sd_log_q": times[0][1][3],
        },
        "times_the_series_per_second": simulations / seconds / float(np.median(rates)),
        "times_faster_in_all": rival / seconds,
        "asked": 10,
        "measured_at": time.strftime("%Y-%m-%d"),
    }
    text = json.dumps(out, indent=2, default=float)
    (HERE / "abc_speed.json").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
