"""Overhead of executor and disk: a 20 ms black box on two worker processes, 2,000 simulations.

    python benchmarks/executor.py

The ideal is 2 processes / 20 ms = 100 simulations a second. The clock starts before the worker
processes do and stops when they have ended; every chunk is written to disk as it finishes, by an atomic
rename. Twice: with a simulator that sleeps, and with one that computes for 20 ms of processor time.
The latter needs two free cores: two bare processes, with none of our code between, tell how much of two
cores there was just before and after. Writes executor.json.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
SECONDS, WORKERS, COUNT, LENGTH = 0.02, 2, 2000, 100

PROBE = """
import time
begin = time.perf_counter()
used = time.process_time()
while time.process_time() - used < 5.0:
    pass
print(5.0 / (time.perf_counter() - begin))
"""


def sleeping(rng, theta):
    time.sleep(SECONDS)
    return theta["Q"] * rng.normal(size=LENGTH)


def computing(rng, theta):
    begin = time.process_time()
    while time.process_time() - begin < SECONDS:
        rng.normal(size=10)
    return theta["Q"] * np.random.default_rng(0).normal(size=LENGTH)


class Folder:
    """A store of one file for each chunk."""

    def __init__(self, path):
        self.path = Path(path)

    def get(self, first, count):
        """There is nothing yet."""

    def put(self, first, chunk):
        """Write a chunk."""
        name = self.path / f"{first:08d}.npz"
        with name.with_suffix(".part").open("wb") as file:
            theta = {f"theta.{key}": value for key, value in chunk.theta.items()}
            np.savez(file, series=chunk.series, **theta)
            file.flush()
            os.fsync(file.fileno())
        name.with_suffix(".part").rename(name)


def free_cores():
    """The share of a core that each of two busy processes gets here and now."""
    probes = [
        subprocess.Popen([sys.executable, "-c", PROBE], stdout=subprocess.PIPE, text=True)
        for _ in range(WORKERS)
    ]
    return sum(float(probe.communicate()[0]) for probe in probes) / WORKERS


def measure(fn):
    import jax

    from tsnl.simulation import BlackBox, Processes, simulate

    theta, key = {"Q": np.linspace(0.1, 1.0, COUNT)}, jax.random.key(0)
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        used = time.process_time()
        with Processes(WORKERS) as executor:
            box = BlackBox(fn, executor=executor)
            found = simulate(key, box, theta, LENGTH, num_columns=1, store=Folder(folder))
        seconds = time.perf_counter() - begin
        used = time.process_time() - used
        files = len(list(Path(folder).iterdir()))
    assert found.failures == ()
    ideal = COUNT * SECONDS / WORKERS
    return {
        "seconds": seconds,
        "simulations_per_second": COUNT / seconds,
        "share_of_ideal": ideal / seconds,
        "own_processor_seconds": used,
        "files": files,
    }


def main():
    found = {"workers": WORKERS, "simulations": COUNT, "simulator_seconds": SECONDS}
    found["sleeping"] = measure(sleeping)
    before = free_cores()
    found["computing"] = measure(computing)
    found["computing"]["share_of_a_core_for_bare_processes"] = [before, free_cores()]
    text = json.dumps(found, indent=2)
    print(text)
    (HERE / "executor.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
