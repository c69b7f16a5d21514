"""Default MCMC on targets with several modes, ridges, heavy tails and many parameters.

    python benchmarks/modes.py [--out benchmarks/modes.csv]

One row for each target and seed: the share of draws with a positive first coordinate, the exact share,
R-hat and effective sample size. Starting points cover all modes, as simulations of early rounds do.
"""

import argparse
import csv
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from tsnl.sampling import MCMC, sample

OUT = Path(__file__).with_suffix(".csv")
FIELDS = ("target", "parameters", "seed", "share", "exact", "r_hat", "ess", "draws", "seconds")
NUM_SEEDS = 4


class Target(NamedTuple):
    """A log-density, its number of parameters, the exact share of z_0 > 0, and how wide to start."""

    log_density: Callable[[Array], Array]
    size: int
    share: float
    wide: float


def two_modes(share: float, apart: float, sd: float) -> Callable[[Array], Array]:
    """Normal modes at plus and minus `apart` in the first coordinate."""

    def log_density(z: Array) -> Array:
        centre = jnp.zeros(len(z)).at[0].set(apart)
        right, left = (-0.5 * jnp.sum((z - sign * centre) ** 2) / sd**2 for sign in (1, -1))
        return jnp.logaddexp(jnp.log(share) + right, jnp.log1p(-share) + left)

    return log_density


def ridge(z: Array) -> Array:
    """A parabola of width 0.3 (Haario, Saksman and Tamminen, 1999)."""
    return -0.5 * z[0] ** 2 / 4 - 0.5 * ((z[1] - z[0] ** 2) / 0.3) ** 2


def heavy(z: Array) -> Array:
    """Student's t with three degrees of freedom in each coordinate."""
    return jnp.sum(-2 * jnp.log1p(z**2 / 3))


def scales(z: Array) -> Array:
    """Normal, with variances from 1 to the number of parameters."""
    return -0.5 * jnp.sum(z**2 / (1 + jnp.arange(len(z))))


TARGETS = {
    "two modes, 20 sds apart": Target(two_modes(0.5, 3.0, 0.3), 1, 0.5, 3.0),
    "a small mode, 20 sds apart": Target(two_modes(0.2, 3.0, 0.3), 1, 0.2, 3.0),
    "two modes of two parameters": Target(two_modes(0.3, 3.0, 0.3), 2, 0.3, 3.0),
    "two modes of four parameters": Target(two_modes(0.3, 3.0, 0.3), 4, 0.3, 3.0),
    "two modes, 50 sds apart": Target(two_modes(0.3, 5.0, 0.2), 4, 0.3, 5.0),
    "two modes of eight parameters": Target(two_modes(0.3, 3.0, 0.4), 8, 0.3, 3.0),
    "a bent ridge": Target(ridge, 2, 0.5, 1.0),
    "heavy tails": Target(heavy, 4, 0.5, 1.0),
    "ten parameters": Target(scales, 10, 0.5, 1.0),
    "twenty parameters": Target(scales, 20, 0.5, 1.0),
}


def starts(target: Target, seed: int) -> np.ndarray:
    """Points of the whole range, and some near plus and minus `wide` in the first coordinate."""
    rng = np.random.default_rng(seed)
    near = 0.3 * rng.normal(size=(60, target.size))
    near[:, 0] += target.wide * rng.choice([-1, 1], 60)
    return np.concatenate([target.wide * rng.normal(size=(200, target.size)), near]).astype(np.float32)


def main() -> None:
    """Write all rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT)
    with parser.parse_args().out.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for name, target in TARGETS.items():
            spread = (0.3 * target.wide**2 * np.eye(target.size)).astype(np.float32)
            for seed in range(NUM_SEEDS):
                begin = time.perf_counter()
                points = starts(target, seed)
                found = sample(jax.random.key(seed), target.log_density, points, spread, MCMC())
                share = float((found.z[..., 0] > 0).mean())
                figures = (round(share, 3), target.share, round(found.r_hat, 3), round(found.ess))
                seconds = round(time.perf_counter() - begin, 1)
                row = (name, target.size, seed, *figures, found.z.shape[1], seconds)
                writer.writerow(dict(zip(FIELDS, row, strict=True)))
                print(*row, sep=", ", flush=True)


if __name__ == "__main__":
    main()
