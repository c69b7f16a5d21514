"""How time and memory of `infer` grow with rows, simulations, columns and parameters.

    python benchmarks/growth.py [--small] [--axes rows,columns] [--minutes 60]
    python benchmarks/growth.py --figure

One row of growth.csv for each measurement, each in a process of its own with one thread, run once to
fill the compilation cache and once to be measured. Rows that are there are not measured again; `--small`
leaves out what takes more than a minute or two. The figure, growth.png, and growth.json have exponents
fitted to the upper half of each axis: processor seconds, and memory above that of the smallest.
"""

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
TABLE = HERE / "growth.csv"
FIELDS = ("axis", "value", "seconds", "cpu_seconds", "peak_mb", "error")
AXES = {
    "rows": (100, 1_000, 10_000, 100_000),
    "simulations": (100, 1_000, 10_000, 100_000),
    "columns": (1, 2, 5, 10, 20),
    "parameters": (1, 2, 5, 10, 20),
}
SMALL = {"rows": 1_000, "simulations": 100, "columns": 5, "parameters": 5}
THREADS = {
    "OMP_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
WIDE = 20  # columns of the model that parameters are shared out to


def grouped(groups):
    """Twenty AR(1) columns seen with noise; column j moves with the scale of group j modulo groups."""
    import jax
    import jax.numpy as jnp

    import tsnl

    class Grouped(tsnl.StateSpaceModel):
        scale: np.ndarray

        def sample_initial(self, key, theta):
            return jax.random.normal(key, (WIDE,))

        def sample_transition(self, key, state, theta, t, u):
            scale = jnp.atleast_1d(theta["scale"])[np.arange(WIDE) % groups]
            return 0.9 * state + scale * jax.random.normal(key, (WIDE,))

        def sample_observation(self, key, state, theta, t, u):
            return state + 0.3 * jax.random.normal(key, (WIDE,))

    return Grouped(np.full(groups, 0.3))


def question(axis, value):
    """Model, prior, length and method of one measurement; all but one axis stay where they are."""
    import numpyro.distributions as dist

    import tsnl
    from paper import LINEAR

    few = tsnl.TSNL(rounds=2, simulations=25)
    if axis == "rows":
        return LINEAR.model, LINEAR.prior, value, tsnl.TSNL(rounds=2, simulations=5)
    if axis == "simulations":
        return LINEAR.model, LINEAR.prior, 100, tsnl.TSNL(budget=value)
    if axis == "columns":
        return tsnl.models.LinearGaussian(A=0.9 * np.eye(value)), LINEAR.prior, 100, few
    law = dist.LogNormal(np.full(value, np.log(0.3)), 0.5).to_event(1)
    return grouped(value), tsnl.Prior(scale=law), 100, few


def one(axis, value):
    """Measure in this process and print."""
    import tsnl

    model, prior, length, method = question(axis, value)
    series = model.simulate(seed=0, length=length)
    wall, work = time.perf_counter(), time.process_time()
    tsnl.infer(model, prior, series, method, seed=0, progress=False)
    found = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - work}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({name: round(x, 2) for name, x in (found | {"peak_mb": peak}).items()}))


def measure(axis, value, minutes):
    """One row; an error is part of it."""
    command = [sys.executable, __file__, "--one", axis, str(value)]
    row = {"axis": axis, "value": value}
    for _ in range(2):
        try:
            run = subprocess.run(
                command, capture_output=True, text=True, timeout=60 * minutes, env=os.environ | THREADS
            )
        except subprocess.TimeoutExpired:
            return row | {"error": f"stopped after {minutes:g} minutes"}
        if run.returncode:
            return row | {
                "error": (run.stderr.strip().splitlines() or [f"exit {run.returncode}"])[-1][:300]
            }
    return row | json.loads(run.stdout.splitlines()[-1])


def read():
    """The rows that are there."""
    if not TABLE.exists():
        return []
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def exponent(values, figures):
    """Slope of log figures on log values, over the upper half of the values; None for fewer than two."""
    keep = values >= np.median(values)
    if keep.sum() < 2 or (figures[keep] <= 0).any():
        return None
    return round(float(np.polyfit(np.log(values[keep]), np.log(figures[keep]), 1)[0]), 2)


def summarise():
    """Exponents of time and of memory, and the figure."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(AXES), figsize=(13, 3.2), layout="constrained")
    found = {}
    for axis, panel in zip(AXES, panels, strict=True):
        rows = sorted(
            (r for r in read() if r["axis"] == axis and not r["error"]), key=lambda r: int(r["value"])
        )
        panel.set(xlabel=axis, xscale="log", yscale="log")
        if len(rows) < 2:
            continue
        x, cpu, peak = (
            np.array([float(r[k]) for r in rows]) for k in ("value", "cpu_seconds", "peak_mb")
        )
        more = exponent(x[1:], peak[1:] - peak[0]) if len(x) > 2 else None
        found[axis] = {"up_to": int(x[-1]), "seconds": exponent(x, cpu), "memory": more}
        panel.plot(x, cpu, "o-", label=f"seconds, exponent {found[axis]['seconds']}")
        panel.plot(x, peak / 1024, "s--", label=f"GiB, exponent {more}")
        panel.legend(fontsize=8)
    figure.savefig(HERE / "growth.png", dpi=120)
    (HERE / "growth.json").write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found, indent=2))


def main():
    """Measure what is missing, then draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--small", action="store_true", help="only what takes a minute or two")
    parser.add_argument("--axes", default=",".join(AXES))
    parser.add_argument("--minutes", type=float, default=60, help="at most, for each measurement")
    parser.add_argument("--figure", action="store_true", help="measure nothing")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(options.one[0], int(options.one[1]))
        return
    there = {(r["axis"], int(r["value"])) for r in read()}
    for axis in () if options.figure else options.axes.split(","):
        for value in AXES[axis]:
            if (axis, value) in there or (options.small and value > SMALL[axis]):
                continue
            row, new = measure(axis, value, options.minutes), not TABLE.exists()
            with TABLE.open("a", newline="") as file:
                writer = csv.DictWriter(file, FIELDS)
                if new:
                    writer.writeheader()
                writer.writerow(row)
            print(row, flush=True)
    summarise()


if __name__ == "__main__":
    main()
