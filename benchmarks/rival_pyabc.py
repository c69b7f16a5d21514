"""pyABC's SMC-ABC on the linear problem: run in its own environment.

Argument: an npz with `y`, the observed series (T,), `tolerances`, one for each generation, and
`particles`. Prints seconds, seconds of the processor, simulations, mean and sd of log Q, and
generations.
"""

import logging
import os
import sys
import time

import numpy as np
import pyabc
from scipy.signal import lfilter

logging.getLogger("ABC").setLevel(logging.ERROR)
data = np.load(sys.argv[1])
observed = data["y"]
T = len(observed)
rng = np.random.default_rng(0)


def simulate(parameter):
    """A series without a loop over time: the state is a filter of its noise."""
    x_0 = rng.normal()
    noise = np.exp(parameter["z"] / 2) * rng.normal(size=T)
    x = lfilter([1.0], [1.0, -0.9], noise, zi=[0.9 * x_0])[0]
    return {"y": x + np.sqrt(0.1) * rng.normal(size=T)}


def distance(simulated, seen):
    gap = simulated["y"] - seen["y"]
    return np.sqrt(gap @ gap)


one_core = len(os.sched_getaffinity(0)) == 1
np.random.seed(0)  # noqa: NPY002  the package draws from the global generator
abc = pyabc.ABCSMC(
    simulate,
    pyabc.Distribution(z=pyabc.RV("norm", np.log(0.3), 1.0)),
    distance,
    population_size=int(data["particles"]),
    eps=pyabc.ListEpsilon(data["tolerances"].tolist()),
    sampler=pyabc.SingleCoreSampler() if one_core else pyabc.MulticoreEvalParallelSampler(),
)
abc.new("sqlite://", {"y": observed})
start, work = time.perf_counter(), time.process_time()
history = abc.run(max_nr_populations=len(data["tolerances"]))
seconds, work = time.perf_counter() - start, time.process_time() - work
frame, weights = history.get_distribution()
z = frame["z"].to_numpy()
mean = weights @ z
sd = np.sqrt(weights @ (z - mean) ** 2)
print(f"\n{seconds} {work} {history.total_nr_simulations} {mean} {sd} {history.n_populations}")
