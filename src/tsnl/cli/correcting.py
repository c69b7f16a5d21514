"""A run corrected to the exact posterior, as a run of its own."""

from pathlib import Path
from typing import Any

import typer

from tsnl.cli.options import read_settings
from tsnl.cli.runs import check_run, read_run, report_run
from tsnl.cli.text import sentence, summary_text
from tsnl.methods import Correct, DelayedPMMH
from tsnl.methods.particle.second import Second


def corrector(draws: int, particles: int | None, max_cost: int | None, delayed: bool) -> Second:
    """The correction that the command line asks for."""
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
    title: str | None,
) -> None:
    """See `tsnl correct`."""
    result, at_hand = read_run(run, model)
    if not at_hand:
        raise ValueError(f"{run} does not hold its model: give the file with --model.")
    try:
        found = result.correct(method, seed=seed, folder=out, resume=resume)
    except KeyboardInterrupt:
        typer.echo(f"\ntsnl: stopped; {out} keeps what is finished: go on with --resume.", err=True)
        raise
    typer.echo(summary_text(found))
    typer.echo(f"{sentence(found.status)}.\n")
    checks = check_run(out, found, 0, refit=False)
    typer.echo(f"{checks}\n")
    config = run / "config.toml"
    kept = read_settings(config).title if config.exists() else None
    path = report_run(out, found, checks, title or kept, replicates=0)
    typer.echo(f"Run: {out}\nReport: {path}")
