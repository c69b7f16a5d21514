r"""Choosing the lag L.

The autocorrelation rule looks at the data alone; the others fit kernels for a ladder of lags to the
simulations of a round and compare them.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

Lag = int | Literal["acf", "validation", "aic", "bic"]
RULES = ("acf", "validation", "aic", "bic")
LADDER = (1, 2, 4, 8, 16, 32)
THRESHOLD = 0.2  # of the autocorrelation norm, relative to lag 0


class LagChoice(NamedTuple):
    """A lag and why it was chosen.

    Attributes:
        lag: L.
        reason: in plain words.
        scores: lag to the figure that decided.
    """

    lag: int
    reason: str
    scores: dict[int, float]


def acf_norms(series: Float[np.ndarray, "T d_y"], max_lag: int) -> Float[np.ndarray, " lags"]:
    r"""Frobenius norms of the sample autocorrelation matrices of lags 0..max_lag, relative to lag 0.

    \(C_L = \frac{1}{T - L} \sum_{t=L+1}^{T} (y_{t-L} - \bar y)(y_t - \bar y)^T\), over the pairs of rows
    that are both there.
    """
    there = np.isfinite(series).all(axis=1)
    centred = np.where(there[:, None], series - series[there].mean(axis=0), 0.0)
    norms = []
    for lag in range(max_lag + 1):
        end = len(series) - lag
        pairs = max(int((there[:end] & there[lag:]).sum()), 1)
        norms.append(np.linalg.norm(centred[:end].T @ centred[lag:] / pairs))
    return np.asarray(norms) / norms[0]


def by_acf(
    observed: Float[np.ndarray, "T d_y"],
    simulated: Float[np.ndarray, "N T d_y"],
    threshold: float = THRESHOLD,
) -> LagChoice:
    """The last lag before the autocorrelation of data and prior simulations stays under a threshold.

    The norms of the observed series and the mean of the simulated ones' are averaged, so that neither
    one short series nor a wide prior decides alone. Lags beyond a quarter of the series are not trusted.
    """
    max_lag = max(1, min(max(LADDER), len(observed) // 4))
    usable = [s for s in simulated if np.isfinite(s).all() and np.ptp(s) > 0]
    norms = acf_norms(observed, max_lag)
    if usable:
        norms = 0.5 * (norms + np.mean([acf_norms(s, max_lag) for s in usable], axis=0))
    above = np.flatnonzero(norms[1:] >= threshold)
    lag = int(above[-1]) + 1 if len(above) else 1
    return LagChoice(
        lag,
        f"the autocorrelation norm stays under {threshold:g} of lag 0 after lag {lag}",
        {k: float(v) for k, v in enumerate(norms)},
    )


def by_score(
    rule: str,
    length: int,
    evaluate: Callable[[int], tuple[float, int]],
    num_rows: int,
    ladder: Sequence[int] = LADDER,
) -> LagChoice:
    r"""The lag of a ladder with the best score.

    Args:
        rule: "validation", held-out \(-\log q\) for each row; "aic" and "bic" add k / n and
            k log(n) / 2n for the k trained weights.
        length: T; lags at or beyond it are left out.
        evaluate: lag to (held-out loss, number of trained weights).
        num_rows: n.
        ladder: the lags to try.
    """
    price = {"validation": 0.0, "aic": 1.0, "bic": 0.5 * np.log(num_rows)}[rule]
    scores = {}
    for lag in ladder:
        if lag < length:
            loss, num_weights = evaluate(lag)
            scores[lag] = loss + price * num_weights / num_rows
    best = min(scores, key=lambda lag: scores[lag])
    return LagChoice(best, f"it has the best {rule} score of the lags {list(scores)}", scores)
