"""Which rows to learn from: the split is by series, never by row."""

import numpy as np
from jaxtyping import Bool


def split(
    rng: np.random.Generator,
    targets: Bool[np.ndarray, "N T"],
    num_members: int,
    fraction: float,
    lag: int,
    num_views: int = 1,
) -> tuple[Bool[np.ndarray, "M N T"], Bool[np.ndarray, "M N T"]]:
    """Which targets each member of an ensemble trains on, and which it is held to.

    Whole series are held out, other ones for each member in turn, so that the ensemble together learns
    from all. With a single series, the last block of time is held out, a gap of `lag` rows before it.

    Args:
        rng: a numpy generator.
        targets: the rows that may be used at all.
        num_members: M.
        fraction: share of the series, or of the time, to hold out.
        lag: L.
        num_views: series i, i + N / num_views, ... are views of one path of states, and stay together.
    """
    if num_views > 1:
        paths = np.asarray(targets.reshape(num_views, -1, targets.shape[1]).any(axis=0))
        train, held = split(rng, paths, num_members, fraction, lag)
        return np.tile(train, (1, num_views, 1)) & targets, np.tile(held, (1, num_views, 1)) & targets
    train = np.repeat(targets[None], num_members, axis=0)
    held = np.zeros_like(train)
    live = rng.permutation(np.flatnonzero(targets.any(axis=1)))
    if fraction == 0:
        return train, train
    if len(live) == 1:
        times = np.flatnonzero(targets[live[0]])
        first = times[int(len(times) * (1 - fraction))]
        held[:, live[0], first:] = targets[live[0], first:]
        train[:, live[0], max(first - lag, min(first, 1)) :] = False
        return (train, held) if train.any() else (held, held)  # too short to hold anything out
    count = min(max(1, round(fraction * len(live))), len(live) - 1)
    for member in range(num_members):
        chosen = np.roll(live, -member * count)[:count]
        held[member, chosen] = targets[chosen]
        train[member, chosen] = False
    return train, held
