"""One verb over swappable methods."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from tsnl.methods import TSNL
from tsnl.methods.api import Method, check_capabilities
from tsnl.problem import Problem
from tsnl.result import Result, load
from tsnl.runtime.checked import check_field, check_seed
from tsnl.runtime.compilation import cache_compilations, make_room
from tsnl.runtime.progress import progress_for
from tsnl.runtime.seeds import key_of
from tsnl.store import results
from tsnl.store.folder import RunFolder
from tsnl.store.place import as_folder


def infer(
    model: Any,
    prior: Any,
    series: Any,
    method: Method | None = None,
    *,
    inputs: Any = None,
    seed: int,
    progress: bool = True,
    folder: str | Path | None = None,
    resume: bool = False,
) -> Result:
    """Infer the parameters that a prior names, from one observed series or several.

    Args:
        model: a `tsnl.StateSpaceModel`, a function (rng, theta) -> series, a `tsnl.BlackBox`, a
            `tsnl.Program`, or a `tsnl.Table` of simulations made elsewhere.
        prior: a `tsnl.Prior` over its parameters, or some of them.
        series: (T,) or (T, d_y), NaN where missing; or a list of such series, of any lengths, that are
            independent given theta.
        method: what to do; `TSNL()` where None.
        inputs: known inputs (T,) or (T, d_u), passed to the model's laws row by row and to the kernel's
            context; or a list of them, one for each series.
        seed: any non-negative integer; the same one on the same machine, with the same number of visible
            cores, gives the same draws to the bit.
        progress: show a bar where there is a terminal.
        folder: where to keep the run: simulations and rounds as they finish, then the result, for
            `tsnl.load`. A run that was cut off, at whatever moment, can go on from there.
        resume: go on with the run in the folder, if there is one: it comes to the same draws, to the
            bit, as if it had never been cut off, where as many cores are visible as before.

    Raises:
        FileExistsError: the folder holds a run, and resume is False.
        ValueError: it holds a run of another question.
    """
    check_field("progress", progress, bool)
    check_field("resume", resume, bool)
    seed, method = check_seed(seed), TSNL() if method is None else method
    cache_compilations()
    make_room()
    problem = Problem.of(model, prior, series, inputs)
    check_capabilities(method, problem)
    store = None
    if folder is not None:
        store = RunFolder.open(as_folder(folder), problem, method, seed, resume)
        if store.finished:
            return load(folder, model=problem.model, prior=problem.prior)
        problem = replace(problem, store=store)
    watcher = progress_for(progress)
    try:
        outcome = method.run(key_of(seed), problem, watcher)
    finally:
        watcher.close()
    result = Result.of(problem, method, outcome, seed)
    if store is not None:
        results.write(store.path, result, store.mark)
    return result
