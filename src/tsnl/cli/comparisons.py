"""The commands that correct a run, and that set methods and models side by side."""

from pathlib import Path
from typing import Any

import typer

from tsnl.cli import arguments as given
from tsnl.cli.app import app


@app.command()
def correct(
    run: given.RunPath,
    out: given.CorrectedOut = None,
    model: given.Simulator = None,
    draws: given.NumDraws = 600,
    particles: given.Particles = None,
    delayed: given.Delayed = False,
    max_cost: given.MaxCost = None,
    seed: given.FixedSeed = 0,
    resume: given.Resume = False,
    force: given.Force = False,
    title: given.Title = None,
) -> None:
    """Correct a run to the exact posterior, where its model has densities."""
    from tsnl.cli.correcting import correct_run, corrector

    target = run.with_name(f"{run.name}-corrected") if out is None else out
    method = corrector(draws, particles, max_cost, delayed)
    correct_run(run, target, model, method, seed=seed, resume=resume, force=force, title=title)


@app.command()
def compare_methods(
    model: given.ModelPath,
    data: given.DataPath,
    max_cost: given.EachCost = None,
    methods: given.Methods = None,
    config: given.Config = None,
    assignments: given.Set = None,
    columns: given.Columns = None,
    time: given.Time = None,
    every: given.Every = None,
    decimal: given.Decimal = None,
    encoding: given.Encoding = None,
    header: given.Header = None,
    inputs: given.Inputs = None,
    workers: given.Workers = None,
    timeout: given.Timeout = None,
    in_process: given.InProcess = False,
    seed: given.FixedSeed = 0,
) -> None:
    """Try the methods side by side, at equal cost."""
    from tsnl.cli.columns import check_columns, num_columns
    from tsnl.cli.comparing import method_table
    from tsnl.cli.data import read_csv, read_inputs
    from tsnl.cli.model_file import Crew, read_model, working
    from tsnl.cli.options import changed, read_settings

    told: dict[str, Any] = {
        "columns": None if columns is None else tuple(columns.split(",")),
        "time": time,
        "every": every,
        "decimal": decimal,
    }
    told |= {"encoding": encoding, "header": header, "workers": workers, "timeout": timeout}
    settings = changed(read_settings(config), told, {}, assignments or ())
    found = read_csv(data, settings.columns, settings.form)
    rows = found.rows
    known = read_inputs(inputs, settings.form.of_inputs, found.times, range(len(rows)))
    file = read_model(model)
    names = None if methods is None else methods.split(",")
    with working(file, Crew(settings.workers, settings.timeout, None, in_process)) as simulator:
        check_columns(data, found, num_columns(simulator, file.prior, len(rows), known))
        given_: dict[str, Any] = {
            "max_cost": max_cost,
            "names": names,
            "options": settings.options,
            "seed": seed,
        }
        table = method_table(simulator, file.prior, rows, known, **given_)
    typer.echo(table)


@app.command()
def compare_models(
    runs: given.Runs,
    names: given.Names = None,
    scores: given.Scores = True,
    out: given.ComparisonOut = Path("models.png"),
    seed: given.FixedSeed = 0,
) -> None:
    """Ask which of several models the data prefer, from their runs."""
    from tsnl.cli.comparing import compare_runs

    found = compare_runs(runs, None if names is None else names.split(","), scores, seed)
    found.plot(out)
    typer.echo(str(found))
    typer.echo(f"Picture: {out}")
