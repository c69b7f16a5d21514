"""Time and memory of T-SNL on 100 rows of 20 columns, with 2 rounds of 20 simulations.

    python benchmarks/columns.py [--columns 20]

Two processes of their own with one thread, the first with an empty compilation cache, and the exact
posterior by the Kalman filter on a grid. Writes columns.json: processor seconds, gigabytes, and how far
the posterior of log R is off.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
THREADS = {"OMP_NUM_THREADS": "1", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}


def one(columns, exact):
    """Run in this process and print what it took."""
    import numpyro.distributions as dist

    import tsnl

    model = tsnl.models.LinearGaussian(A=0.9, Q=0.1 * np.ones(columns), R=0.1)
    prior = tsnl.Prior(R=dist.LogNormal(-1.2, 1.0))
    series = model.simulate(seed=100, length=100)
    begin = time.process_time()
    result = tsnl.infer(model, prior, series, tsnl.TSNL(budget=40), seed=0, progress=False)
    found = {
        "cpu_seconds": round(time.process_time() - begin, 1),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "status": result.status,
    }
    if exact:
        found |= compare(np.log(np.asarray(result.draws["R"]).ravel()), series)
    print(json.dumps(found))


def compare(draws, series):
    """Bias and sd of draws of log R over those of the exact posterior; columns are independent."""
    from scipy.stats import norm

    grid = np.linspace(-4.0, 1.0, 2001)
    total = norm.logpdf(grid, -1.2, 1.0)  # of log R
    for y in np.asarray(series).T:
        total += kalman(y, np.exp(grid))
    weight = np.exp(total - total.max())
    weight /= weight.sum()
    mean = weight @ grid
    sd = np.sqrt(weight @ (grid - mean) ** 2)
    return {
        "exact": [round(float(mean), 3), round(float(sd), 3)],
        "bias_in_sds": round(float((draws.mean() - mean) / sd), 2),
        "sd_ratio": round(float(draws.std() / sd), 2),
    }


def kalman(y, noise):
    """Log-likelihood of one column at many R: x_0 ~ N(0, 1), A = 0.9, Q = 0.1."""
    mean, variance, total = np.zeros_like(noise), np.ones_like(noise), np.zeros_like(noise)
    for value in y:
        mean, variance = 0.9 * mean, 0.81 * variance + 0.1
        spread = variance + noise
        total -= 0.5 * (np.log(2 * np.pi * spread) + (value - mean) ** 2 / spread)
        gain = variance / spread
        mean, variance = mean + gain * (value - mean), (1 - gain) * variance
    return total


def main():
    """With an empty cache, then with a full one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--one", choices=("cold", "warm"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(options.columns, options.one == "warm")
        return
    found = {"columns": options.columns}
    with tempfile.TemporaryDirectory() as cache:
        for name in ("cold", "warm"):
            command = [sys.executable, __file__, "--one", name, "--columns", str(options.columns)]
            env = os.environ | THREADS | {"TSNL_COMPILATION_CACHE": cache}
            run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=env)
            found[name] = json.loads(run.stdout.splitlines()[-1])
            print(found[name], flush=True)
    (HERE / "columns.json").write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
