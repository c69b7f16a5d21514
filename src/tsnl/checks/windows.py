"""Has the kernel seen such windows? The observed ones against simulated ones near the posterior."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import stdtr

from tsnl.checks.verdict import Verdict, adjusted, by_p_value, spoken
from tsnl.kernel import Kernel, Lags, Scaling
from tsnl.kernel.examples import Simulated
from tsnl.kernel.memory import along
from tsnl.runtime.compilation import compiled_lightly

NEIGHBOURS = 3  # the distance to the third is less of an accident than to the first
MOST_TIMES = 500  # of the distances that are kept for a picture
AT_LEAST = 40  # simulations to compare with, where there are so many
MOST_ROWS = 1_000_000  # of all of them together, and no fewer than 20 simulations


def check_windows(
    kernel: Kernel,
    observed: Float[np.ndarray, "T d_y"],
    simulated: Simulated,
    z: Float[np.ndarray, "n size"],
    rng: np.random.Generator,
) -> Verdict | None:
    """How far the observed windows lie from simulated ones, in standardised and whitened units.

    One half of the simulations near the posterior is searched for neighbours. The other half says which
    distances a series from the model has, on average and at most; the logarithms of these are taken as
    normal. Says nothing (None) where there are too few simulations.

    Args:
        kernel: units and lag.
        observed: the series.
        simulated: the simulations.
        z: unconstrained posterior draws.
        rng: a numpy generator.
    """
    near = rng.permutation(_near(simulated, z))
    if len(near) < 8:
        return None
    found, others = _distances(kernel, observed, simulated.series[near])
    there = np.isfinite(found)
    p_values = {
        "average": _p_value(found[there].mean(), others.mean(axis=1)),
        "largest": _p_value(found[there].max(), others.max(axis=1)),
    }
    p = adjusted(p_values.values())
    far = np.flatnonzero(there & (found > np.quantile(others, 0.99))) + 1 + kernel.spec.lag
    figures = {
        "p_value": p,
        "p_values": p_values,
        "average": float(found[there].mean()),
        "typical": float(others.mean()),
        "far": far.tolist(),
        **_picture(found, others, kernel.spec.lag),
        "num_series": len(others),
    }
    if by_p_value(p) == "pass":
        sentence = f"The observed windows are in distribution ({spoken(p)})."
        return Verdict("windows", "pass", sentence, "", figures)
    sentence = (
        f"The observed windows are out of distribution ({spoken(p)}): {len(far)} of {there.sum()} lie "
        f"beyond the 99 % quantile of simulated ones."
    )
    remedy = "Look for outliers; widen the prior, or make the model able to produce such windows."
    return Verdict("windows", by_p_value(p), sentence, remedy, figures)


def _picture(
    found: Float[np.ndarray, " n"], others: Float[np.ndarray, "held n"], lag: int
) -> dict[str, Any]:
    """What a picture shows, at some of the times, ready for JSON."""
    places = np.unique(np.linspace(0, len(found) - 1, min(len(found), MOST_TIMES)).round()).astype(int)
    usual = np.quantile(others, [0.5, 0.9, 0.99])
    return {
        "times": (places + 1 + lag).tolist(),
        "distances": [None if np.isnan(x) else round(float(x), 6) for x in found[places]],
        "usual": dict(zip(("50", "90", "99"), usual.tolist(), strict=True)),
    }


def _distances(
    kernel: Kernel, observed: Float[np.ndarray, "T d_y"], series: Float[np.ndarray, "N T d_y"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "held n"]]:
    """From each window of the observed series, and of half of the others, to its neighbours in the rest.

    NaN where a window of the observed series has gaps.
    """
    from scipy.spatial import KDTree  # slow to import

    both = np.concatenate([observed[None], series]).astype(jnp.result_type(float))
    windows = np.asarray(_windows(kernel.scaling, kernel.spec.lag, both), dtype=float)
    half = 1 + len(series) // 2
    library = windows[1:half].reshape(-1, windows.shape[2])
    covariance = np.atleast_2d(np.cov(library.T))
    whiten = np.linalg.inv(np.linalg.cholesky(covariance + 1e-3 * np.diag(np.diag(covariance)))).T
    tree = KDTree(library @ whiten)
    asked = windows[[0, *range(half, len(windows))]] @ whiten
    there = np.isfinite(asked).all(axis=2)
    distance = tree.query(np.where(there[..., None], asked, 0.0), k=NEIGHBOURS)[0][..., -1]
    distance = np.where(there, distance, np.nan)
    return distance[0], distance[1:]


def _near(simulated: Simulated, z: Float[np.ndarray, "n size"]) -> np.ndarray:
    """The complete simulations nearest to the posterior: half of them, or a fair number."""
    whole = np.flatnonzero(np.isfinite(simulated.series).all(axis=(1, 2)))
    gap = (simulated.z[whole] - z.mean(axis=0)) / (z.std(axis=0) + 1e-12)
    order = np.argsort((gap**2).sum(axis=1), kind="stable")
    fewest, most = 20, MOST_ROWS // simulated.series.shape[1]
    return whole[order[: min(max(AT_LEAST, len(whole) // 2), max(fewest, most))]]


@compiled_lightly
def _windows(
    scaling: Scaling, lag: int, series: Float[Array | np.ndarray, "N T d_y"]
) -> Float[Array, "N n width"]:
    """Each row with the L before it, standardised; those that reach before the start are left out."""
    y = scaling.standardise(jnp.asarray(series))
    memory = Lags(lag).make(jax.random.key(0), y.shape[2], 0)

    def one(rows: Array) -> Array:
        seen, u = jnp.ones(rows.shape, bool), jnp.zeros((len(rows), 0))
        near = along(memory, rows, seen, u)[:, : lag * rows.shape[1]]
        return jnp.concatenate([rows, near], axis=1)[lag:]

    return jax.vmap(one)(y)


def _p_value(found: float, others: Float[np.ndarray, " n"]) -> float:
    """That another is as large: by a normal logarithm, and no less than the share of those that are."""
    logs, n = np.log(others + 1e-12), len(others)
    score = (np.log(found + 1e-12) - logs.mean()) / (logs.std(ddof=1) * np.sqrt(1 + 1 / n) + 1e-12)
    larger = int((others >= found).sum())
    return float(max(stdtr(n - 1, -score), larger / (n + 1)))
