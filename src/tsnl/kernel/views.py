r"""What several views of one path of states are worth.

A path of states that is observed K times gives K series. Each is a draw from the model; they are not
independent, since they share the path. With \(\rho\) the correlation, between two views, of the
residuals of a linear prediction from the row before, K views count as \(K / (1 + (K - 1) \rho)\) series.
"""

import numpy as np
from jaxtyping import Array, Bool, Float

CUT = 5.0  # standardised: no single row decides


def worth_of_views(
    y: Float[Array | np.ndarray, "N T d_y"], use: Bool[np.ndarray, "N T"], num_views: int
) -> float:
    """What one row of many views is worth, over a row of series that share nothing: 1 / K to 1.

    Args:
        y: standardised series; i, i + N / num_views, ... are views of one path.
        use: the rows that count.
        num_views: K.
    """
    if num_views == 1 or y.shape[1] < 2:
        return 1.0
    rows = np.clip(np.asarray(y, dtype=float), -CUT, CUT)
    rows = rows.reshape(num_views, -1, *rows.shape[1:])
    both = (use[:, 1:] & use[:, :-1]).reshape(num_views, -1, use.shape[1] - 1)
    now, before = rows[:, :, 1:], rows[:, :, :-1]
    weight = both[..., None].astype(float)
    every = (0, 1, 2)
    slope = (weight * now * before).sum(axis=every) / ((weight * before**2).sum(axis=every) + 1e-9)
    residual = now - slope * before
    mean = (weight * residual).sum(axis=every) / max(both.sum(), 1)
    residual = (residual - mean) * weight
    pairs = both[:-1] & both[1:]
    shared = (residual[:-1] * residual[1:] * pairs[..., None]).sum() / max(pairs.sum(), 1)
    rho = np.clip(shared / ((residual**2).sum() / max(both.sum(), 1) + 1e-9), 0.0, 1.0)
    return float(1 / (1 + (num_views - 1) * rho))
