"""Picking few points that stand evenly for many."""

import numpy as np
from jaxtyping import Float


def spread(
    rng: np.random.Generator, points: Float[np.ndarray, "m size"], n: int
) -> Float[np.ndarray, "n size"]:
    """N of m points, one at random from each of n cells of equal mass; all, and again, where n > m.

    The cells come from cutting the cloud across its widest coordinate, again and again, each part
    getting its share of the n. Where a plain subsample would leave holes and clumps, these points cover
    the cloud evenly, and each point is as likely to be picked as any other, up to rounding.
    """
    if n >= len(points):
        again = spread(rng, points, n % len(points)) if n % len(points) else points[:0]
        return rng.permutation(np.concatenate([*[points] * (n // len(points)), again]))
    scale = points.std(axis=0) + 1e-12
    chosen: list[int] = []
    parts = [(np.arange(len(points)), n)]
    while parts:
        members, count = parts.pop()
        if count == 1:
            chosen.append(int(rng.choice(members)))
            continue
        here = points[members] / scale
        widest = int(np.argmax(here.std(axis=0)))
        members = members[np.argsort(here[:, widest], kind="stable")]
        low = count // 2
        cut = round(len(members) * low / count)
        parts += [(members[:cut], low), (members[cut:], count - low)]
    return points[rng.permutation(chosen)]
