"""Gaps for simulated series, like those of the observed one."""

import numpy as np
from jaxtyping import Bool

RATE, RUN = 0.1, 0.1  # share of rows missing one by one, and in one run, where the data have no gaps


def gap_masks(
    rng: np.random.Generator, seen: Bool[np.ndarray, "T d_y"], n: int
) -> Bool[np.ndarray, "n T d_y"]:
    """Which entries of n simulated series a kernel may see in its contexts.

    Each is the observed pattern turned round by a random number of rows: as many entries missing, one by
    one and in runs, as in the data, at any place. A complete series gets a pattern of its own for each:
    a tenth of the rows at random and a run of a tenth.
    """
    length = len(seen)
    if not seen.all():
        shifts = rng.integers(0, length, size=n)
        return seen[(np.arange(length) + shifts[:, None]) % length]
    masks = rng.uniform(size=(n, length)) >= RATE
    first = rng.integers(0, length, size=n)[:, None]
    run = max(1, round(RUN * length))
    masks &= (np.arange(length) - first) % length >= run
    return np.repeat(masks[:, :, None], seen.shape[1], axis=2)
