"""Seconds of training, rows in pieces against all at once, and members on one core against all.

    python -m benchmarks.training_speed

One ensemble on simulated autoregressions, compiled before the clock runs; ratios within one run, the
median of `TIMES` turns each. Writes training_speed.json beside this file.
"""

import json
import statistics
import time
from pathlib import Path

import jax
import numpy as np

from tsnl.kernel import Decays, KernelSpec, Lags, Mixture, fit_scaling, training
from tsnl.kernel.examples import Simulated
from tsnl.kernel.learn import learn
from tsnl.kernel.training import Training
from tsnl.runtime import cores

SERIES, LENGTH, STEPS, TIMES = 4000, 120, 300, 3
OPTIONS = Training(min_steps=STEPS, max_steps=STEPS)
AT_ONCE = OPTIONS.max_batch_size + 1  # a piece that is never full


def simulate() -> Simulated:
    """Autoregressions of order one, with their coefficient and log-scale as parameters."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(SERIES, 2))
    y = np.zeros((SERIES, LENGTH))
    for t in range(1, LENGTH):
        y[:, t] = np.tanh(z[:, 0]) * y[:, t - 1] + np.exp(0.3 * z[:, 1]) * rng.normal(size=SERIES)
    return Simulated(y[..., None], np.zeros((SERIES, LENGTH, 0)), z)


def seconds(simulated: Simulated, piece: int, number: int) -> float:
    """The median time of a fit, after one that compiles."""
    spec = KernelSpec(
        head=Mixture(), memory=(Lags(4), Decays()), d_y=1, d_u=0, size=2, num_members=OPTIONS.num_members
    )
    scaling = fit_scaling(simulated.series, simulated.z, ("none",), None)
    chosen, taken = np.ones(SERIES, dtype=bool), []
    training.PIECE, cores.visible_cores = piece, lambda: number
    jax.clear_caches()
    for _ in range(TIMES + 1):
        begin = time.perf_counter()
        learn(jax.random.key(0), np.random.default_rng(0), spec, scaling, simulated, chosen, (), OPTIONS)
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken[1:])


def main() -> None:
    """Measure and write."""
    simulated, piece, number = simulate(), training.PIECE, cores.visible_cores()
    once = seconds(simulated, AT_ONCE, 1)
    pieces = seconds(simulated, piece, 1)
    spread = seconds(simulated, piece, number)
    found = {
        "cores": number,
        "seconds_at_once_on_one_core": round(once, 2),
        "pieces_over_at_once": round(pieces / once, 3),
        "all_cores_over_one": round(spread / pieces, 3),
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
