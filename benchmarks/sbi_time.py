"""Time of the whole of `infer` against the time that sbi's NLE takes to train on as many simulations.

    python benchmarks/sbi_time.py

Linear problem, 100 simulations of length 100. Ours: a fresh process that runs `infer` (5 rounds of 20,
each with training and sampling), with a warm compilation cache, import included and not. sbi: training
alone, MAF of 5 transforms of 32 units, default stopping, in a virtual environment of its own. The two
take turns. Writes sbi_time.json.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax
import numpy as np
from foundation import rival_python

from paper import LINEAR
from tsnl.simulation import simulate

HERE = Path(__file__).parent
OURS = """
import time; start = time.perf_counter()
import tsnl
from paper import LINEAR
problem = LINEAR.observe(0)
begin = time.perf_counter()
result = tsnl.infer(problem.model, problem.prior, problem.series, tsnl.TSNL(), seed=0)
end = time.perf_counter()
print(end - begin, end - start)
"""


def ours():
    """Seconds of `infer`, and of the process from its first line."""
    run = subprocess.run([sys.executable, "-c", OURS], capture_output=True, text=True, check=True)
    return [float(x) for x in run.stdout.split()]


def sbi(data):
    """Seconds of sbi's training."""
    command = [rival_python("sbi"), HERE / "rival_sbi.py", data]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(run.stdout.splitlines()[-1])


def main():
    """Alternate, then compare the medians."""
    key = jax.random.key(0)
    theta = LINEAR.prior.sample(key, 100)
    batch = simulate(key, LINEAR.model, theta, LINEAR.length)
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder) / "data.npz")
        np.savez(data, theta=np.log(batch.theta["Q"])[:, None], x=batch.series[:, :, 0])
        ours()  # fills the compilation cache
        times = [(ours(), sbi(data)) for _ in range(3)]
    infer, process = np.median([t[0] for t in times], axis=0)
    rival = float(np.median([t[1] for t in times]))
    found = {
        "infer_seconds": infer,
        "process_seconds": process,
        "sbi_training_seconds": rival,
        "infer_over_sbi": infer / rival,
        "process_over_sbi": process / rival,
        "asked": 1 / 3,
        "measured_at": time.strftime("%Y-%m-%d"),
    }
    (HERE / "sbi_time.json").write_text(json.dumps(found, indent=2, default=float) + "\n")
    print(json.dumps(found, indent=2, default=float))


if __name__ == "__main__":
    main()
