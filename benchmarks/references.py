"""Reference posteriors that have no closed form, kept in benchmarks/data.

    python benchmarks/references.py predator_prey [--series 10] [--particles 250] [--ess 1000]
    python benchmarks/references.py volatility [--series 20] [--particles 5000]

Predator-prey by long particle MCMC (`paper.particle_reference`), volatility by particle
filters on a grid of z, the one unconstrained coordinate of C (`paper.references`).

Writes benchmarks/data/NAME.npz, one series at a time, and goes on where it was interrupted.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from paper import PREDATOR_PREY, VOLATILITY
from paper.particle_reference import Effort, draw_reference
from paper.references import volatility_reference

DATA = Path(__file__).parent / "data"


def main():
    """Make what is missing of the references."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=["predator_prey", "volatility"])
    parser.add_argument("--series", type=int)
    parser.add_argument("--ess", type=int, default=1000)
    parser.add_argument("--particles", type=int)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    out = DATA / f"{options.name}.npz"
    stored = dict(np.load(out)) if out.exists() else {}
    predators = options.name == "predator_prey"
    setting = PREDATOR_PREY if predators else VOLATILITY
    count = options.series or (10 if predators else 20)
    for seed in range(options.first, options.first + count):
        if f"series_{seed}" in stored:
            continue
        start = time.perf_counter()
        if predators:
            effort = Effort(options.particles or 250, options.ess)
            draws, info = draw_reference(setting, seed, effort)
            thinned = draws[:, :: max(1, draws.shape[1] // 250)].reshape(-1, 4)
            stored |= {f"draws_{seed}": np.exp(thinned).astype(np.float32)}
            stored |= {f"info_{seed}": np.array(str(info))}
        else:
            log_p, info = volatility_reference(setting, seed, options.particles or 5000)
            stored |= {f"log_posterior_{seed}": log_p, f"noise_{seed}": np.array(info)}
        stored |= {f"series_{seed}": setting.model.simulate(seed=seed, length=setting.length)}
        DATA.mkdir(exist_ok=True)
        np.savez_compressed(out, **stored)
        print(f"series {seed}: {info}, {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
