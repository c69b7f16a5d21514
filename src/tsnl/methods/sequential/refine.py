"""One more round for a run that has ended: simulate where the posterior is now, learn from all."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from tsnl.kernel.lag import LagChoice
from tsnl.methods.api import Outcome
from tsnl.methods.sequential.options import Sequential
from tsnl.methods.sequential.record import Before
from tsnl.methods.sequential.rounds import run_rounds
from tsnl.methods.sequential.simulated import Simulated
from tsnl.posterior import Stream, sample_posterior
from tsnl.problem import Problem
from tsnl.problem.draws import unconstrained
from tsnl.runtime.progress import progress_for
from tsnl.sampling import MCMC


def refine(
    result: Any, data: Any, simulations: int, inputs: Any, seed: int, progress: bool
) -> tuple[Problem, Outcome]:
    """The question and what came of it; see `Result.refine`."""
    kernel = None if result.posterior is None else result.posterior.kernel
    if kernel is None or result.lag is None or not isinstance(result.method, Sequential):
        name = type(result.method).__name__
        raise TypeError(f"{name} learns no kernel of rows to refine: use TSNL.")
    if simulations < 1:
        raise ValueError(f"simulations is {simulations}, expected at least 1.")
    problem, z = _now(result, data, inputs, seed)
    simulated = Simulated.of_arrays(result.arrays, result.problem)
    before = Before(
        simulated, z, kernel.scaling, LagChoice(result.lag[0], result.lag[1], {}), result.history
    )
    plan = replace(result.method.plan(problem), rounds=1, simulations=simulations, max_cost=None)
    watcher = progress_for(progress)
    try:
        return problem, run_rounds(jax.random.key(seed), problem, plan, watcher, before)
    finally:
        watcher.close()


def _now(
    result: Any, data: Any, inputs: Any, seed: int
) -> tuple[Problem, Float[np.ndarray, "chain draw size"]]:
    """What a refinement is about, and draws of z of its posterior by the kernel as it is."""
    if isinstance(data, Stream):
        known = (data.inputs,) if data.inputs.shape[1] else None
        return replace(result.problem, panel=(data.series,), inputs=known), data.draw(2000)[None]
    if data is None:
        return result.problem, unconstrained(result.problem.prior, result.draws)
    problem = Problem.of(result.problem.model, result.problem.prior, data, inputs)
    posterior = result.posterior.condition(data, inputs)
    return problem, sample_posterior(jax.random.key(seed), posterior, None, MCMC()).z
