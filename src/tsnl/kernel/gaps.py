"""Gaps for simulated series, like those of the observed one."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool

RATE, RUN = 0.1, 0.1  # share of rows missing one by one, and in one run, where the data have no gaps


def gap_masks(
    rng: np.random.Generator, panel: Sequence[Bool[np.ndarray, "_ d_y"]], length: int, n: int
) -> Bool[np.ndarray, "n T d_y"]:
    """Which entries of n simulated series a memory may see.

    Each is a circular shift of an observed pattern: as many entries missing, one by one and in runs, as
    in the data, at any place. Where the data are complete each gets a pattern of its own: a tenth of
    the rows at random and a run of a tenth.

    Args:
        rng: a numpy generator.
        panel: which entries of the observed series are there.
        length: T of the simulated series.
        n: how many.
    """
    if not all(seen.all() for seen in panel):
        long = np.stack([np.resize(seen, (length, seen.shape[1])) for seen in panel])
        shifts = rng.integers(0, length, size=n)
        return long[(np.arange(n) % len(long))[:, None], (np.arange(length) + shifts[:, None]) % length]
    masks = rng.uniform(size=(n, length)) >= RATE
    first = rng.integers(0, length, size=n)[:, None]
    run = max(1, round(RUN * length))
    masks &= (np.arange(length) - first) % length >= run
    return np.repeat(masks[:, :, None], panel[0].shape[1], axis=2)
