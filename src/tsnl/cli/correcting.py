"""A run corrected to the exact posterior, as a run of its own."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from tsnl.cli.fitting import finish
from tsnl.cli.options import Settings, to_toml
from tsnl.cli.runs import keeping, kept_title, make_place, one_way, read_run
from tsnl.methods import Correct, DelayedPMMH
from tsnl.methods.particle.correct import FEWEST
from tsnl.methods.particle.second import Second
from tsnl.runtime.checked import whole_number


def corrector(draws: int, particles: int | None, max_cost: int | None, delayed: bool) -> Second:
    """The correction that the command line asks for.

    Raises:
        ValueError: too few draws or particles.
    """
    whole_number("--draws", draws, FEWEST)
    if particles is not None:
        whole_number("--particles", particles, 2)
    options: dict[str, Any] = {"max_cost": max_cost}
    options |= {} if particles is None else {"num_particles": particles}
    return DelayedPMMH(**options) if delayed else Correct(num_draws=draws, **options)


def correct_run(
    run: Path,
    out: Path,
    model: Path | None,
    method: Second,
    *,
    seed: int,
    resume: bool,
    force: bool,
    title: str | None,
) -> None:
    """See `tsnl correct`."""
    one_way(resume, force)
    result, at_hand = read_run(run, model)
    if not at_hand:
        raise ValueError(f"{run} does not hold its model: give the file with --model.")
    if not resume:
        make_place(out, force)
    begin = time.perf_counter()
    title = title or kept_title(run) or f"{run.name}, corrected"
    method = replace(method, first=result.method)
    with keeping(out, to_toml(Settings(seed=seed, title=title), method)):
        found = result.correct(method, seed=seed, folder=out, resume=resume)
    finish(out, found, time.perf_counter() - begin, title, replicates=0, refit=False)
