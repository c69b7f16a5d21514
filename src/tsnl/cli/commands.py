"""The commands: arguments in, a few lines of text and files out."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import typer

from tsnl.cli import arguments as given
from tsnl.cli import comparisons  # noqa: F401  (commands of its own)
from tsnl.cli.app import app


@app.command()
def new(path: given.NewFile, jax: given.Jax = False) -> None:
    """Write a commented file to start from: a simulator and a prior."""
    if path.suffix != ".py":
        raise ValueError(f"{path} does not end in .py, as a Python file must.")
    if path.exists():
        raise FileExistsError(f"{path} is there already: choose another name.")
    name = "state_space.txt" if jax else "black_box.txt"
    text = (files("tsnl.cli") / "templates" / name).read_text(encoding="utf-8")
    path.write_text(text.replace("MODEL_FILE", path.name), encoding="utf-8")
    typer.echo(f"Wrote {path}. Try it: python {path}, then tsnl fit {path} data.csv --out run")


@app.command()
def fit(
    model: given.ModelPath,
    data: given.DataPath,
    out: given.Out = Path("run"),
    config: given.Config = None,
    method: given.Method = None,
    lag: given.Lag = None,
    rounds: given.Rounds = None,
    simulations: given.PerRound = None,
    max_cost: given.MaxCost = None,
    columns: given.Columns = None,
    inputs: given.Inputs = None,
    workers: given.Workers = None,
    timeout: given.Timeout = None,
    dask: given.Dask = None,
    seed: given.Seed = None,
    title: given.Title = None,
    resume: given.Resume = False,
    replicates: given.Replicates = 199,
    refit: given.Refit = True,
) -> None:
    """Infer the parameters; print summary and verdicts, write run folder and report."""
    from tsnl.cli.fitting import fit_run
    from tsnl.cli.options import changed, read_settings

    settings = changed(
        read_settings(config),
        {
            "method": method,
            "columns": None if columns is None else tuple(columns.split(",")),
            "workers": workers,
            "timeout": timeout,
            "seed": seed,
            "title": title,
        },
        {
            "lag": int(lag) if lag is not None and lag.lstrip("-").isdecimal() else lag,
            "rounds": rounds,
            "simulations": simulations,
            "max_cost": max_cost,
        },
    )
    fit_run(
        model,
        data,
        out,
        settings,
        inputs=inputs,
        dask=dask,
        resume=resume,
        replicates=replicates,
        refit=refit,
    )


@app.command()
def update(
    run: given.RunPath,
    data: given.NewRows,
    out: given.UpdatedOut = None,
    columns: given.Columns = None,
    inputs: given.Inputs = None,
    seed: given.FixedSeed = 0,
) -> None:
    """Take in new rows, without a simulation."""
    from tsnl.cli.data import read_csv, read_inputs
    from tsnl.cli.runs import read_run, updated
    from tsnl.cli.text import sentence, summary_text
    from tsnl.store.folder import refuse_to_overwrite

    target = run.with_name(f"{run.name}-updated") if out is None else out
    refuse_to_overwrite(target)
    rows = read_csv(data, () if columns is None else tuple(columns.split(","))).rows
    result, _ = read_run(run)
    found, stream = updated(result, rows, read_inputs(inputs), seed)
    found.save(target)
    typer.echo(summary_text(found))
    typer.echo(f"{sentence(found.status)}; the particles were moved {stream.refreshes} times.")
    typer.echo(f"Run: {target}")


@app.command()
def report(
    run: given.RunPath,
    out: given.ReportOut = None,
    title: given.Title = None,
    model: given.Simulator = None,
) -> None:
    """Write the report of a run anew."""
    from tsnl.cli.options import read_settings
    from tsnl.cli.runs import check_run, read_checks, read_run, report_run

    result, can_simulate = read_run(run, model)
    replicates = 199 if can_simulate else 0
    checks = read_checks(run) or check_run(run, result, replicates, refit=True)
    kept = run / "config.toml"
    title = read_settings(kept).title if title is None and kept.exists() else title
    path = report_run(run, result, checks, title, out=out, replicates=replicates)
    typer.echo(f"Report: {path}")


@app.command()
def check(
    run: given.RunPath,
    model: given.Simulator = None,
    replicates: given.Replicates = 199,
    refit: given.Refit = True,
    correct: given.CheckDraws = 0,
    local: given.Local = False,
) -> None:
    """Check again whether a run can be trusted."""
    from tsnl.cli.runs import check_run, read_run

    result, can_simulate = read_run(run, model)
    count = replicates if can_simulate else 0
    typer.echo(str(check_run(run, result, count, refit, correct, local)))
    if replicates and not can_simulate:
        typer.echo(
            "No series were simulated: the run does not hold its simulator; give it with --model."
        )


@app.command()
def forecast(
    run: given.RunPath,
    horizon: given.Horizon = 20,
    out: given.ForecastOut = None,
    source: given.Source = "kernel",
    inputs: given.Inputs = None,
    model: given.Simulator = None,
    seed: given.FixedSeed = 0,
) -> None:
    """Forecast the rows after the series; write quantiles and a picture."""
    from tsnl.cli.data import read_inputs
    from tsnl.cli.forecasting import write_forecast
    from tsnl.cli.runs import read_run

    chosen: Any = source
    result, _ = read_run(run, model)
    found = result.forecast(horizon, chosen, inputs=read_inputs(inputs), seed=seed)
    path, picture = write_forecast(found, run / "forecast.csv" if out is None else out)
    typer.echo(path.read_text().rstrip())
    typer.echo(f"Forecast: {path}, {picture}")


@app.command()
def demo(
    out: given.Out = Path("demo"),
    seed: given.FixedSeed = 0,
) -> None:
    """Infer the noise of a linear model, beside the exact answer."""
    from tsnl.cli.fitting import demo_run

    demo_run(out, seed)
