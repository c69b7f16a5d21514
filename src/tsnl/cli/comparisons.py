"""The commands that correct a run, and that set methods and models side by side."""

from pathlib import Path

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
    title: given.Title = None,
) -> None:
    """Correct a run to the exact posterior, where its model has densities."""
    from tsnl.cli.correcting import correct_run, corrector

    target = run.with_name(f"{run.name}-corrected") if out is None else out
    method = corrector(draws, particles, max_cost, delayed)
    correct_run(run, target, model, method, seed=seed, resume=resume, title=title)


@app.command()
def compare_methods(
    model: given.ModelPath,
    data: given.DataPath,
    max_cost: given.EachCost = None,
    methods: given.Methods = None,
    columns: given.Columns = None,
    inputs: given.Inputs = None,
    workers: given.Workers = None,
    timeout: given.Timeout = None,
    seed: given.FixedSeed = 0,
) -> None:
    """Try the methods side by side, at equal cost."""
    from tsnl.cli.comparing import method_table
    from tsnl.cli.data import read_csv, read_inputs
    from tsnl.cli.model_file import read_model, working

    file = read_model(model)
    rows = read_csv(data, () if columns is None else tuple(columns.split(","))).rows
    names = None if methods is None else methods.split(",")
    with working(file, workers, timeout) as simulator:
        found = method_table(
            simulator,
            file.prior,
            rows,
            read_inputs(inputs),
            max_cost=max_cost,
            names=names,
            seed=seed,
        )
    typer.echo(found)


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
