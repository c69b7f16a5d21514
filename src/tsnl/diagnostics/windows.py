"""Has the kernel seen such windows? The observed ones against simulated ones near the posterior."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import stdtr

from tsnl.density import Kernel
from tsnl.diagnostics.verdict import Verdict, adjusted, by_p_value, spoken
from tsnl.methods.simulated import Simulated
from tsnl.windows import Windows

NEIGHBOURS = 3  # the distance to the third is less of an accident than to the first
AT_LEAST = 40  # simulations to compare with, where there are so many


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
    from scipy.spatial import KDTree  # slow to import

    near = rng.permutation(_near(simulated, z))
    if len(near) < 8:
        return None
    searched, held = near[: len(near) // 2], near[len(near) // 2 :]
    library = np.concatenate([_windows(kernel, simulated.series[i]) for i in searched])
    covariance = np.atleast_2d(np.cov(library.T))
    whiten = np.linalg.inv(np.linalg.cholesky(covariance + 1e-3 * np.diag(np.diag(covariance)))).T
    tree = KDTree(library @ whiten)

    def distances(series: np.ndarray) -> np.ndarray:
        return tree.query(_windows(kernel, series) @ whiten, k=NEIGHBOURS)[0][:, -1]

    found = distances(observed)
    others = [distances(simulated.series[i]) for i in held]
    p_values = {
        "average": _p_value(found.mean(), np.array([x.mean() for x in others])),
        "largest": _p_value(found.max(), np.array([x.max() for x in others])),
    }
    p = adjusted(p_values.values())
    typical = float(np.quantile(np.concatenate(others), 0.99))
    far = np.flatnonzero(found > typical) + 1 + kernel.past.lag
    level = by_p_value(p)
    if level == "pass":
        sentence, remedy = f"The observed windows lie among the simulated ones ({spoken(p)}).", ""
    else:
        sentence = (
            f"The observed windows lie further from the simulated ones than these from each other "
            f"({spoken(p)}); {len(far)} of {len(found)} beyond what is seen in 1 of 100."
        )
        remedy = "Look for outliers; widen the prior, or make the model able to produce such windows."
    figures = {
        "p_value": p,
        "p_values": p_values,
        "average": float(found.mean()),
        "typical": float(np.mean([x.mean() for x in others])),
        "far": far.tolist(),
        "num_series": len(held),
    }
    return Verdict("windows", level, sentence, remedy, figures)


def _near(simulated: Simulated, z: Float[np.ndarray, "n size"]) -> np.ndarray:
    """The complete simulations nearest to the posterior: half of them, or a fair number."""
    whole = np.flatnonzero(np.isfinite(simulated.series).all(axis=(1, 2)))
    gap = (simulated.z[whole] - z.mean(axis=0)) / (z.std(axis=0) + 1e-12)
    order = np.argsort((gap**2).sum(axis=1), kind="stable")
    return whole[order[: max(AT_LEAST, len(whole) // 2)]]


def _windows(kernel: Kernel, series: Float[np.ndarray, "T d_y"]) -> Float[np.ndarray, "n width"]:
    """Each row with the L before it, standardised; those that reach before the start are left out."""
    rows: Array = kernel.scaling.standardise(jnp.asarray(series, jnp.result_type(float)))[None]
    windows = Windows.of(rows, jnp.ones(rows.shape, bool), kernel.past)
    times = jnp.arange(kernel.past.lag, len(series))
    y, context = windows.take(jnp.zeros_like(times), times)
    return np.asarray(jnp.concatenate([y, context.lags.reshape(len(times), -1)], axis=1), dtype=float)


def _p_value(found: float, others: Float[np.ndarray, " n"]) -> float:
    """That another is as large: by a normal logarithm, and no less than the share of those that are."""
    logs, n = np.log(others + 1e-12), len(others)
    score = (np.log(found + 1e-12) - logs.mean()) / (logs.std(ddof=1) * np.sqrt(1 + 1 / n) + 1e-12)
    larger = int((others >= found).sum())
    return float(max(stdtr(n - 1, -score), larger / (n + 1)))
