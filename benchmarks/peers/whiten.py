"""Every problem's prior as a standard normal: coordinates w that all packages share.

Each coordinate of a prior here is independent of the others and has a known law, so w, the normal score
of its distribution function, is exactly N(0, I) a priori and no package has to be taught a prior. NumPy
and SciPy alone: the packages' own environments import it too. A law is (name, kind, a, b).
"""

import numpy as np
from scipy import special

Law = tuple[str, str, float, float]


def to_z(laws: list[Law], w: np.ndarray) -> np.ndarray:
    """The unconstrained coordinates of tsnl's prior, (n, size)."""
    return np.stack([_one(law, w[..., i]) for i, law in enumerate(laws)], axis=-1)


def _one(law: Law, w: np.ndarray) -> np.ndarray:
    _, kind, a, b = law
    if kind in ("normal", "lognormal"):
        return a + b * w
    odds = special.log_ndtr(w) - special.log_ndtr(-w)
    if kind == "uniform":
        return odds
    if kind == "correlation":
        return odds / 2
    share = np.clip(special.betaincinv(a, b, special.ndtr(w)), 1e-12, 1 - 1e-12)
    return special.logit(share)


def to_theta(laws: list[Law], w: np.ndarray) -> dict[str, np.ndarray]:
    """Name to value, one for each row of w; a correlation is its one free entry."""
    z, theta = to_z(laws, w), {}
    for i, (name, kind, a, b) in enumerate(laws):
        value = z[..., i]
        if kind == "lognormal":
            value = np.exp(value)
        elif kind == "uniform":
            value = a + (b - a) * special.expit(value)
        elif kind == "beta":
            value = special.expit(value)
        elif kind == "correlation":
            value = np.tanh(value)
        theta[name] = value
    return theta
