"""Distances between samples and densities."""

import numpy as np
from jaxtyping import Float


def total_variation(
    p: Float[np.ndarray, " grid"], q: Float[np.ndarray, " grid"], grid: Float[np.ndarray, " grid"]
) -> float:
    r"""\(\frac12 \int |p - q|\) of two densities on one grid, each normalised there first."""
    p, q = (density / np.trapezoid(density, grid) for density in (p, q))
    return float(0.5 * np.trapezoid(np.abs(p - q), grid))


def c2st(
    p: Float[np.ndarray, "n size"],
    q: Float[np.ndarray, "n size"],
    *,
    seed: int = 0,
    num_folds: int = 5,
    width: int = 32,
    num_steps: int = 600,
) -> float:
    """Classifier two-sample test: the accuracy with which a small network tells p from q.

    Five-fold cross-validated, on as many draws of the one as of the other, standardised by p. One half
    is indistinguishable, one is disjoint (Lopez-Paz and Oquab, 2017).

    Args:
        p: draws of the reference.
        q: draws to compare with it.
        seed: of the folds and the networks.
        num_folds: how many parts.
        width: units in each of two hidden layers.
        num_steps: full-batch steps of Adam.
    """
    if p.shape != q.shape:
        raise ValueError(f"p has shape {p.shape} and q {q.shape}: give equal numbers of draws.")
    from tsnl.classifier import accuracy  # compiled only when asked for

    x = np.concatenate([p, q])
    x = (x - p.mean(axis=0)) / (p.std(axis=0) + 1e-12)
    label = np.repeat([0.0, 1.0], len(p))
    return accuracy(x, label, seed, num_folds, width, num_steps)
