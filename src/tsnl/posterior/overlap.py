"""New rows that are not new: a whole file where only its end was meant."""

import numpy as np
from jaxtyping import Float

FEWEST = 3  # different rows in a row that are the same by more than chance; of counts more


def count_known(series: Float[np.ndarray, "T d_y"], rows: Float[np.ndarray, "n d_y"]) -> int:
    """How many of the rows, from the first on, are up to the end of the series, and not after it.

    The end of the series is looked for among the rows: all that comes before it in either of them must
    be the same in both.
    """
    if series.shape[1:] != rows.shape[1:] or not len(rows):
        return 0
    last = _same(rows, series[-1]).all(axis=1)
    for end in reversed((1 + np.flatnonzero(last)).tolist()):
        count = min(end, len(series))
        block = rows[end - count : end]
        if _same(block, series[len(series) - count :]).all() and _speaks(block):
            return end
    return 0


def _same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a == b) | (np.isnan(a) & np.isnan(b))


def _speaks(block: Float[np.ndarray, "n d_y"]) -> bool:
    """Whether a block has enough in it not to be there twice by chance."""
    there = block[~np.isnan(block).all(axis=1)]
    counts = (np.isnan(there) | (there == np.round(there))).all()
    return len(np.unique(there, axis=0)) >= FEWEST and len(there) >= (4 * FEWEST if counts else FEWEST)
