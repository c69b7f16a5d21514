"""All checks that apply to a result."""

from collections.abc import Mapping

import jax
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.checks.budget import check_budget
from tsnl.checks.correction import (
    check_corrected,
    check_correction,
    correctable,
    offered,
    weighted,
)
from tsnl.checks.health import check_sampler
from tsnl.checks.local import check_law, check_local, kernel_series
from tsnl.checks.one_step import NUM_THINNED, OneStep, one_step
from tsnl.checks.replicates import SUMMARIES, Summary, check_replicates, replicate
from tsnl.checks.surprise import check_surprise
from tsnl.checks.truncation import check_lag
from tsnl.checks.verdict import Report, Verdict
from tsnl.checks.windows import check_windows
from tsnl.likelihood.surrogate import SurrogateLikelihood
from tsnl.methods.api import Inference
from tsnl.methods.particle.second import BEFORE
from tsnl.methods.sequential.options import Sequential
from tsnl.methods.sequential.simulated import Simulated, choose
from tsnl.problem.draws import thinned
from tsnl.runtime.checked import check_field, whole_number
from tsnl.runtime.reader import remedy
from tsnl.runtime.seeds import key_of

NUM_LOCAL = 100  # series that the kernel infers again
NUM_WEIGHTED = 1000  # draws that are weighted anew by other likelihoods


def check(
    result: Inference,
    *,
    summaries: Mapping[str, Summary] | None = None,
    num_replicates: int = 199,
    refit: bool = True,
    correct: int = 0,
    local: bool = False,
    seed: int = 0,
) -> Report:
    """Can this result be trusted? See `tsnl.Result.check`."""
    enough_replicates(whole_number("num_replicates", num_replicates, 0))
    whole_number("correct", correct, 0)
    check_field("refit", refit, bool)
    check_field("local", local, bool)
    key = jax.random.fold_in(key_of(seed), 1)
    draws = result.unconstrained()
    verdicts = _kernel_checks(key, result, draws, refit)
    corrected, cost = _correction(jax.random.fold_in(key, 3), result, correct)
    verdicts = [*(offered(verdicts) if correctable(result) else verdicts), *corrected]
    if num_replicates and result.problem.model.can_simulate:
        z = thinned(draws, num_replicates)
        z = z[np.arange(num_replicates) % len(z)]
        series = replicate(jax.random.fold_in(key, 2), result.problem, z)
        chosen = {**SUMMARIES, **(summaries or {})}
        given = (result.problem.series, series, chosen, result.problem.names)
        verdicts.append(check_replicates(*given))
        if local:
            verdicts += _local_checks(jax.random.fold_in(key, 4), result, draws, z, series)
        cost += num_replicates * result.problem.length
    if not weighted(result):  # picked points have no chains to look at
        entries = np.stack(list(result.coordinates().values()), axis=-1)  # as in the summary
        verdicts.append(check_sampler(entries, result.history[-1].get("divergences", 0)))
    return Report(verdicts, cost)


def enough_replicates(count: int) -> None:
    """Refuse a number of replicates that cannot tell anything.

    Raises:
        ValueError: it is neither 0 nor 99 at least.
    """
    if count != 0 and count < 99:
        name = remedy(python="num_replicates", command="--replicates")
        raise ValueError(
            f"{name} is {count}: fewer than 99 cannot give a p-value of one in a hundred. Give at least "
            f"99, or 0 to leave the replicates out."
        )


def _correction(key: Key[Array, ""], result: Inference, num_draws: int) -> tuple[list[Verdict], int]:
    """What the exact likelihood says of the draws, and the calls of the dynamics that it took."""
    if BEFORE in result.arrays:
        return [check_corrected(result)], 0
    if num_draws == 0 or not correctable(result):
        return [], 0
    verdict, cost = check_correction(key, result, num_draws)
    return [verdict], cost


def _local_checks(
    key: Key[Array, ""],
    result: Inference,
    draws: np.ndarray,
    z: Float[np.ndarray, "n size"],
    series: Float[np.ndarray, "n T d_y"],
) -> list[Verdict]:
    """What series simulated at the posterior say of a kernel of rows."""
    likelihood, posterior = learned_likelihood(result), result.posterior
    if likelihood is None or posterior is None or likelihood.kernel.spec.whole:
        return []
    by_kernel = kernel_series(key, result.problem, likelihood.kernel, z)
    flat = draws.reshape(-1, draws.shape[-1])
    some = (z[:NUM_LOCAL], series[:NUM_LOCAL])
    return [check_law(series, by_kernel), check_local(posterior, flat, *some)]


def one_step_of(result: Inference, *, seed: int = 0) -> OneStep:
    """PIT values and log-scores of the observed series of a result with a kernel for single rows."""
    likelihood = learned_likelihood(result)
    if likelihood is None or likelihood.kernel.spec.whole:
        raise ValueError(f"{type(result.method).__name__} has no kernel for single rows: use TSNL.")
    z = thinned(result.unconstrained(), NUM_THINNED)
    return one_step(key_of(seed), likelihood, result.problem.series, z)


def learned_likelihood(result: Inference) -> SurrogateLikelihood | None:
    """The learned likelihood behind a result, where there is one."""
    found = None if result.posterior is None else result.posterior.likelihood
    return found if isinstance(found, SurrogateLikelihood) else None


def _kernel_checks(
    key: Key[Array, ""], result: Inference, draws: np.ndarray, refit: bool
) -> list[Verdict]:
    likelihood = learned_likelihood(result)
    if likelihood is None:
        return []
    found: list[Verdict | None] = []
    z = thinned(draws, NUM_WEIGHTED)
    rng = np.random.default_rng(0)
    kernel, problem, method = likelihood.kernel, result.problem, result.method
    if not kernel.spec.whole:
        found.append(check_surprise(one_step_of(result), kernel.spec.lag, rng))
    if BEFORE in result.arrays:  # the draws are exact, whatever the kernel is
        return [verdict for verdict in found if verdict is not None]
    if not kernel.spec.whole and "simulated.z" in result.arrays:
        simulated = Simulated.of_arrays(result.arrays, problem)
        found.append(check_windows(kernel, problem.series, simulated.there, z, rng))
        if refit and kernel.spec.lag + 1 < problem.length and isinstance(method, Sequential):
            chosen = choose(method.strategy, simulated, problem, method.sizes[-1])
            given = (likelihood, problem, simulated.there, chosen, method.training)
            found.append(check_lag(key, *given, z))
    rounds = [record for record in result.history if "simulations" in record]
    found.append(check_budget(likelihood, rounds, z))
    return [verdict for verdict in found if verdict is not None]
