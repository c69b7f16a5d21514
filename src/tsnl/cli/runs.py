"""Runs in folders: making them, reading them, and the files that the command line adds to them.

    config.toml     every option of the run; `tsnl fit --config` takes it back
    checks.json     what the checks said
    report.html     the report

Nothing in a run folder is ever executed: what needs the user's simulator is given it with --model.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer

from tsnl.checks.verdict import Report
from tsnl.cli.encoding import read_plain
from tsnl.cli.model_file import Crew, read_model, without_model, working
from tsnl.cli.options import Settings, read_settings, to_toml
from tsnl.inference import infer
from tsnl.methods.api import Method
from tsnl.posterior import Stream
from tsnl.posterior.overlap import count_known
from tsnl.problem import Prior
from tsnl.result import Result, load
from tsnl.runtime.compilation import cache_compilations
from tsnl.show.report import write
from tsnl.store.files import write_text
from tsnl.store.place import delete_run, has_begun, refuse_to_overwrite
from tsnl.store.results import RESULT, RUN

CONFIG, CHECKS, REPORT = "config.toml", "checks.json", "report.html"


class Question(NamedTuple):
    """What is to be inferred, from what."""

    model: Any
    prior: Prior
    series: Any
    inputs: Any = None


def run_into(
    folder: Path, question: Question, method: Method, settings: Settings, resume: bool = False
) -> Result:
    """Infer and keep the run as it goes; Ctrl-C leaves a folder that `resume` goes on with."""
    if not resume:
        refuse_to_overwrite(folder)
    given = {"inputs": question.inputs, "seed": settings.seed, "folder": folder, "resume": resume}
    with keeping(folder, to_toml(settings, method)):
        return infer(*question[:3], method, **given)


@contextmanager
def keeping(folder: Path, config: str) -> Iterator[None]:
    """Where a run is made: what it has finished is kept when it is stopped, if it is anything at all.

    The configuration is written first, so that a run that is killed has it too. Nothing is kept of a run
    that never made a simulation.
    """
    fresh = not folder.exists()
    begun = has_begun(folder) or (folder / RESULT).exists()
    folder.mkdir(parents=True, exist_ok=True)
    if not begun:
        write_text(folder / CONFIG, config)
    try:
        yield
    except KeyboardInterrupt:
        hint = (
            f"tsnl: stopped; {folder} keeps what is finished: go on by the same command with --resume."
        )
        if has_begun(folder):
            typer.echo(f"\n{hint}", err=True)
        raise
    finally:
        if not (has_begun(folder) or (folder / RESULT).exists()):
            delete_run(folder)
            (folder / CONFIG).unlink(missing_ok=True)
            if fresh:
                with suppress(OSError):  # somebody else put something there
                    folder.rmdir()


def one_way(resume: bool, force: bool) -> None:
    """Refuse what cannot be done at once."""
    if resume and force:
        raise ValueError("--resume goes on with a run and --force deletes it: choose one.")


def make_place(folder: Path, force: bool, *, can_resume: bool = True) -> None:
    """See that a run can begin in a folder; with `force`, by deleting the one that is there.

    Raises:
        FileExistsError: there is one.
    """
    if force and ((folder / RESULT).exists() or (folder / RUN).exists()):
        what = delete_run(folder)
        for name in (CONFIG, CHECKS, REPORT):
            (folder / name).unlink(missing_ok=True)
        typer.echo(f"Deleted the run in {folder}: {what}.", err=True)
    refuse_to_overwrite(folder, can_resume=can_resume)
    (folder / CHECKS).unlink(missing_ok=True)  # of a run that somebody deleted


def read_run(folder: Path, model_path: Path | None = None) -> tuple[Result, bool]:
    """A run, and whether its simulator is at hand.

    Args:
        folder: of the run.
        model_path: the user's file, where something is to be simulated.

    Raises:
        ValueError: it is no run, or needs the file.
    """
    cache_compilations()
    if not (folder / "result.json").is_file():
        raise FileNotFoundError(f"{folder} is no finished run of tsnl: tsnl fit makes one.")
    if model_path is not None:
        file = read_model(model_path)
        return load(folder, model=file.model, prior=file.prior), True
    kept = _kept(folder)
    if not kept["prior"]:
        raise ValueError(f"{folder} could not hold its prior: give the file with --model.")
    return load(folder, model=None if kept["model"] else without_model()), kept["model"]


@contextmanager
def opened(folder: Path, model_path: Path | None, crew: Crew) -> Iterator[tuple[Result, bool]]:
    """A run whose simulator, where its file is given, has workers while the context lasts."""
    result, can_simulate = read_run(folder, model_path)
    if model_path is None:
        yield result, can_simulate
        return
    with working(read_model(model_path), crew) as model:
        yield replace(result, problem=replace(result.problem, model=model)), True


def _kept(folder: Path) -> dict[str, bool]:
    """Whether a run holds its model and its prior; a file that is damaged is left to `load`."""
    try:
        facts = json.loads(read_plain(folder / RESULT))
        return {name: facts[name] is not None for name in ("model", "prior")}
    except (ValueError, KeyError, TypeError):
        return {"model": True, "prior": True}


def kept_title(folder: Path) -> str | None:
    """The title that the run's configuration has, where there is one."""
    kept = folder / CONFIG
    return read_settings(kept).title if kept.exists() else None


def check_run(
    folder: Path, result: Result, replicates: int, refit: bool, correct: int = 0, local: bool = False
) -> Report:
    """Check a run and keep what the checks said."""
    found = result.check(num_replicates=replicates, refit=refit, correct=correct, local=local)
    write_text(folder / CHECKS, found.to_json())
    return found


def read_checks(folder: Path) -> Report | None:
    """What the checks said; None where nobody asked."""
    path = folder / CHECKS
    return Report.from_json(read_plain(path).decode()) if path.exists() else None


def report_run(
    folder: Path,
    result: Result,
    checks: Report,
    title: str | None,
    *,
    out: Path | None = None,
    replicates: int = 0,
    everything: bool = False,
) -> Path:
    """Write the report, into the folder where no other place is given."""
    path = folder / REPORT if out is None else out
    shown: dict[str, Any] = {"num_replicates": replicates, "everything": everything}
    return write(result, path, checks, title=title, **shown)


def updated(result: Result, rows: Any, inputs: Any, seed: int) -> tuple[Result, Stream]:
    """The run after new rows: the same kernel, no simulation; and the stream that led there."""
    if result.posterior is None or result.posterior.kernel is None:
        raise TypeError(f"{type(result.method).__name__} learns no kernel to update with: fit by TSNL.")
    known = count_known(result.problem.series, rows)
    if known == len(rows):
        raise ValueError(f"All {known} rows are in the run already: give rows that follow them.")
    if known:
        typer.echo(f"The first {known} of {len(rows)} rows are in the run already: the others are new.")
        inputs = inputs[known:] if inputs is not None and len(inputs) == len(rows) else inputs
        rows = rows[known:]
    stream = result.posterior.update(rows, inputs, seed=seed)
    draws = stream.sample()
    count = next(iter(draws.values())).shape[1]
    new = replace(
        result,
        draws=draws,
        log_density=np.full((1, count), np.nan),
        status=f"updated with {len(rows)} new rows, log-evidence {stream.log_evidence:.2f}"
        + (f"; drawn anew by MCMC after row {stream.redrawn[-1] + 1}" if stream.redrawn else ""),
        posterior=stream.posterior,
        problem=replace(
            result.problem,
            panel=(stream.series,),
            inputs=None if result.problem.inputs is None else (stream.inputs,),
        ),
        arrays={},  # simulations of the shorter series
    )
    return new, stream
