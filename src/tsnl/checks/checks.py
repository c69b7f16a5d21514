"""All checks that apply to a result."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from tsnl.checks.budget import check_budget
from tsnl.checks.health import check_sampler
from tsnl.checks.one_step import NUM_THINNED, OneStep, one_step
from tsnl.checks.replicates import SUMMARIES, Summary, check_replicates, replicate
from tsnl.checks.surprise import check_surprise
from tsnl.checks.truncation import check_lag
from tsnl.checks.verdict import Report, Verdict
from tsnl.checks.windows import check_windows
from tsnl.methods.sequential.simulated import Simulated
from tsnl.problem.draws import thinned, unconstrained
from tsnl.simulation import Table

NUM_WEIGHTED = 1000  # draws that are weighted anew by other likelihoods


def check(
    result: Any,
    *,
    summaries: Mapping[str, Summary] | None = None,
    num_replicates: int = 199,
    refit: bool = True,
    seed: int = 0,
) -> Report:
    """Can this result be trusted? See `tsnl.Result.check`."""
    if num_replicates != 0 and num_replicates < 99:
        raise ValueError(
            f"num_replicates is {num_replicates}: fewer than 99 cannot give a p-value of one in a "
            f"hundred. Give at least 99, or 0 to leave the replicates out."
        )
    key = jax.random.fold_in(jax.random.key(seed), 1)
    draws = unconstrained(result.problem.prior, result.draws)
    verdicts = _kernel_checks(key, result, draws, refit)
    cost = 0
    if num_replicates and not isinstance(result.problem.model, Table):  # which cannot simulate
        z = thinned(draws, num_replicates)
        z = z[np.arange(num_replicates) % len(z)]
        series = replicate(jax.random.fold_in(key, 2), result.problem, z)
        chosen = {**SUMMARIES, **(summaries or {})}
        verdicts.append(check_replicates(result.problem.series, series, chosen))
        cost = num_replicates * result.problem.length
    verdicts.append(check_sampler(draws, result.history[-1].get("divergences", 0)))
    return Report(verdicts, cost)


def one_step_of(result: Any, *, seed: int = 0) -> OneStep:
    """PIT values and log-scores of the observed series of a result with a kernel for single rows."""
    if not _has_steps(result):
        raise ValueError(f"{type(result.method).__name__} has no kernel for single rows: use TSNL.")
    plan, z = (
        result.method.plan(result.problem),
        thinned(unconstrained(result.problem.prior, result.draws), NUM_THINNED),
    )
    key, series = jax.random.key(seed), result.problem.series
    return one_step(key, result.posterior.likelihood, series, z, plan.dequantise)


def _has_kernel(result: Any) -> bool:
    return result.posterior is not None and result.posterior.kernel is not None


def _has_steps(result: Any) -> bool:
    """Whether the kernel is one of rows, not of whole series."""
    return _has_kernel(result) and result.lag is not None


def _kernel_checks(key: Any, result: Any, draws: np.ndarray, refit: bool) -> list[Verdict]:
    if not _has_kernel(result):
        return []
    found: list[Verdict | None] = []
    z = thinned(draws, NUM_WEIGHTED)
    rng = np.random.default_rng(0)
    if _has_steps(result):
        found.append(check_surprise(one_step_of(result), result.lag[0], rng))
        if "simulated.z" in result.arrays:
            simulated = Simulated.of_arrays(result.arrays, result.problem)
            kernel = result.posterior.kernel
            found.append(check_windows(kernel, result.problem.series, simulated, z, rng))
            if refit and result.lag[0] + 1 < result.problem.length:
                found.append(check_lag(key, result, simulated, z))
    found.append(check_budget(result, z))
    return [verdict for verdict in found if verdict is not None]
