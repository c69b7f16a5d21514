"""One verb over swappable methods."""

from typing import Any

import jax
import numpy as np

from tsnl.compilation import cache_compilations
from tsnl.methods import TSNL
from tsnl.methods.outcome import Method
from tsnl.problem import Problem
from tsnl.progress import progress_for
from tsnl.result import Result


def infer(
    model: Any,
    prior: Any,
    series: Any,
    method: Method | None = None,
    *,
    seed: int,
    progress: bool = True,
) -> Result:
    """Infer the parameters that a prior names, from one observed series.

    Args:
        model: a `tsnl.StateSpaceModel`, a function (rng, theta) -> series, a `tsnl.BlackBox`, a
            `tsnl.Program`, or a `tsnl.Table` of simulations made elsewhere.
        prior: a `tsnl.Prior` over its parameters, or some of them.
        series: (T,) or (T, d_y).
        method: what to do; `TSNL()` where None.
        seed: one integer; the same seed on the same machine gives the same draws to the bit.
        progress: show a bar where there is a terminal.
    """
    method = TSNL() if method is None else method
    cache_compilations()
    problem = Problem.of(model, prior, series)
    missing = int(np.isnan(problem.series).sum())
    if missing and not getattr(method, "takes_missing", False):
        raise ValueError(
            f"The series has {missing} missing entries, which {type(method).__name__} cannot use yet: "
            f"give a stretch without gaps."
        )
    watcher = progress_for(progress)
    try:
        outcome = method.run(jax.random.key(seed), problem, watcher)
    finally:
        watcher.close()
    return Result.of(problem, method, outcome, seed)
