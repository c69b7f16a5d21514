"""One more round for a run that has ended: simulate where the posterior is now, learn from all."""

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from tsnl.kernel.lag import LagChoice
from tsnl.kernel.stacked import parts_of
from tsnl.methods.api import Inference, Outcome
from tsnl.methods.sequential.options import Sequential
from tsnl.methods.sequential.rounds import run
from tsnl.methods.sequential.simulated import Simulated
from tsnl.methods.sequential.state import Form, RoundState
from tsnl.posterior import Posterior, Stream, sample_posterior
from tsnl.problem import Problem
from tsnl.runtime.checked import whole_number
from tsnl.runtime.progress import progress_for
from tsnl.runtime.seeds import key_of
from tsnl.sampling import MCMC


def refine(
    result: Inference, data: Any, simulations: int, inputs: Any, seed: int, progress: bool
) -> tuple[Problem, Outcome]:
    """The question and what came of it; see `Result.refine`."""
    posterior, method = result.posterior, result.method
    kernel = None if posterior is None else posterior.kernel
    if posterior is None or kernel is None or result.lag is None or not isinstance(method, Sequential):
        raise TypeError(f"{type(method).__name__} learns no kernel of rows to refine: use TSNL.")
    whole_number("simulations", simulations, 1)
    problem, z = _now(result, posterior, data, inputs, seed)
    options = method.once(simulations)
    earlier = Simulated.of_arrays(result.arrays, result.problem)
    gaps = kernel.spec.gaps or any(np.isnan(one).any() for one in problem.panel)
    spec = replace(parts_of(kernel.spec)[0], gaps=gaps)
    state = RoundState(
        simulated=earlier.grown(problem, earlier.count + simulations, method.num_views(problem)),
        z=z,
        form=Form(spec, LagChoice(*result.lag, {}), kernel.scaling.names()),
        history=tuple(result.history),
    )
    watcher = progress_for(progress)
    try:
        return problem, run(key_of(seed), problem, options, watcher, state)
    finally:
        watcher.close()


def _now(
    result: Inference, posterior: Posterior, data: Any, inputs: Any, seed: int
) -> tuple[Problem, Float[np.ndarray, "chain draw size"]]:
    """What a refinement is about, and draws of z of its posterior by the kernel as it is."""
    if isinstance(data, Stream):
        known = (data.inputs,) if data.inputs.shape[1] else None
        return replace(result.problem, panel=(data.series,), inputs=known), data.draw(2000)[None]
    if data is None:
        return result.problem, result.unconstrained()
    problem = Problem.of(result.problem.model, result.problem.prior, data, inputs)
    other = posterior.condition(data, inputs)
    return problem, sample_posterior(key_of(seed), other, None, MCMC()).z
