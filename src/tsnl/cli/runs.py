"""Runs in folders: making them, reading them, and the files that the command line adds to them.

    config.toml     every option of the run; `tsnl fit --config` takes it back
    checks.json     what the checks said
    report.html     the report

Nothing in a run folder is ever executed: what needs the user's simulator is given it with --model.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer

from tsnl.checks.verdict import Report
from tsnl.cli.model_file import read_model, without_model
from tsnl.cli.options import Settings, to_toml
from tsnl.inference import infer
from tsnl.methods.api import Method
from tsnl.posterior import Stream
from tsnl.problem import Prior
from tsnl.result import Result, load
from tsnl.runtime.compilation import cache_compilations
from tsnl.show.report import write
from tsnl.store.files import write_text
from tsnl.store.folder import refuse_to_overwrite


class Question(NamedTuple):
    """What is to be inferred, from what."""

    model: Any
    prior: Prior
    series: Any
    inputs: Any = None


def run_into(
    folder: Path, question: Question, method: Method, settings: Settings, resume: bool = False
) -> Result:
    """Infer and keep the run as it goes; Ctrl-C leaves a folder that `resume` goes on with.

    The configuration is written first, so that a run that is killed has it too.
    """
    if not resume:
        refuse_to_overwrite(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "config.toml", to_toml(settings, method))
    given = {"inputs": question.inputs, "seed": settings.seed, "folder": folder, "resume": resume}
    try:
        return infer(*question[:3], method, **given)
    except KeyboardInterrupt:
        hint = (
            f"tsnl: stopped; {folder} keeps what is finished: go on by the same command with --resume."
        )
        typer.echo(f"\n{hint}", err=True)
        raise


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


def _kept(folder: Path) -> dict[str, bool]:
    """Whether a run holds its model and its prior; a file that is damaged is left to `load`."""
    try:
        facts = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        return {name: facts[name] is not None for name in ("model", "prior")}
    except (ValueError, KeyError, TypeError):
        return {"model": True, "prior": True}


def check_run(
    folder: Path, result: Result, replicates: int, refit: bool, correct: int = 0, local: bool = False
) -> Report:
    """Check a run and keep what the checks said."""
    found = result.check(num_replicates=replicates, refit=refit, correct=correct, local=local)
    write_text(folder / "checks.json", found.to_json())
    return found


def read_checks(folder: Path) -> Report | None:
    """What the checks said; None where nobody asked."""
    path = folder / "checks.json"
    return Report.from_json(path.read_text(encoding="utf-8")) if path.exists() else None


def report_run(
    folder: Path,
    result: Result,
    checks: Report,
    title: str | None,
    *,
    out: Path | None = None,
    replicates: int = 0,
) -> Path:
    """Write the report, into the folder where no other place is given."""
    path = folder / "report.html" if out is None else out
    return write(result, path, checks, title=title, num_replicates=replicates)


def updated(result: Result, rows: Any, inputs: Any, seed: int) -> tuple[Result, Stream]:
    """The run after new rows: the same kernel, no simulation; and the stream that led there."""
    if result.posterior is None or result.posterior.kernel is None:
        raise TypeError(f"{type(result.method).__name__} learns no kernel to update with: fit by TSNL.")
    stream = result.posterior.update(rows, inputs, seed=seed)
    draws = stream.sample()
    count = next(iter(draws.values())).shape[1]
    new = replace(
        result,
        draws=draws,
        log_density=np.full((1, count), np.nan),
        status=f"updated with {len(rows)} new rows, log-evidence {stream.log_evidence:.2f}",
        posterior=stream.posterior,
        problem=replace(
            result.problem,
            panel=(stream.series,),
            inputs=None if result.problem.inputs is None else (stream.inputs,),
        ),
        arrays={},  # simulations of the shorter series
    )
    return new, stream
