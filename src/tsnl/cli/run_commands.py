"""The commands that look at a run, or go on from it."""

from typing import Any

import typer

from tsnl.cli import arguments as given
from tsnl.cli.app import app


@app.command()
def update(
    run: given.RunPath,
    data: given.NewRows,
    out: given.UpdatedOut = None,
    columns: given.Columns = None,
    time: given.Time = None,
    every: given.Every = None,
    decimal: given.Decimal = None,
    encoding: given.Encoding = None,
    header: given.Header = None,
    inputs: given.Inputs = None,
    seed: given.FixedSeed = 0,
    force: given.Force = False,
) -> None:
    """Take in new rows, without a simulation."""
    from tsnl.cli.data import read_csv, read_inputs
    from tsnl.cli.dated import rows_after
    from tsnl.cli.form import Form
    from tsnl.cli.runs import make_place, read_run, updated
    from tsnl.cli.text import sentence, summary_text

    target = run.with_name(f"{run.name}-updated") if out is None else out
    make_place(target, force, can_resume=False)
    result, _ = read_run(run)
    times = result.problem.when
    form = Form(decimal, encoding, header, time, every).stepping(times)
    new = read_csv(data, () if columns is None else tuple(columns.split(",")), form)
    rows, end = rows_after(result.problem, new), result.problem.length
    known = read_inputs(inputs, form.of_inputs, times, range(end, end + len(rows)))
    found, stream = updated(result, rows, known, seed)
    found.save(target)
    typer.echo(summary_text(found))
    typer.echo(f"{sentence(found.status)}; the particles were moved {stream.refreshes} times.")
    typer.echo(f"Run: {target}")


@app.command()
def refine(
    run: given.RunPath,
    out: given.RefinedOut = None,
    rounds: given.MoreRounds = 1,
    simulations: given.MoreSimulations = None,
    model: given.Simulator = None,
    workers: given.Workers = None,
    timeout: given.Timeout = None,
    in_process: given.InProcess = False,
    seed: given.Seed = None,
    title: given.Title = None,
    replicates: given.Replicates = 199,
    refit: given.Refit = True,
    force: given.Force = False,
) -> None:
    """Simulate where the posterior is now, in further rounds; check and report."""
    from tsnl.cli.fitting import refine_run
    from tsnl.cli.model_file import Crew

    refine_run(
        run,
        run.with_name(f"{run.name}-refined") if out is None else out,
        model,
        Crew(workers, timeout, None, in_process),
        rounds=rounds,
        simulations=simulations,
        seed=seed,
        title=title,
        replicates=replicates,
        refit=refit,
        force=force,
    )


@app.command()
def report(
    run: given.RunPath,
    out: given.ReportOut = None,
    title: given.Title = None,
    model: given.Simulator = None,
    in_process: given.InProcess = False,
    everything: given.Everything = False,
) -> None:
    """Write the report of a run anew."""
    from tsnl.cli.model_file import Crew
    from tsnl.cli.runs import check_run, kept_title, opened, read_checks, report_run

    with opened(run, model, Crew(in_process=in_process)) as (result, can_simulate):
        replicates = 199 if can_simulate else 0
        checks = read_checks(run) or check_run(run, result, replicates, refit=True)
        shown: dict[str, Any] = {"out": out, "replicates": replicates, "everything": everything}
        path = report_run(run, result, checks, title or kept_title(run), **shown)
    typer.echo(f"Report: {path}")


@app.command()
def check(
    run: given.RunPath,
    model: given.Simulator = None,
    in_process: given.InProcess = False,
    replicates: given.Replicates = 199,
    refit: given.Refit = True,
    correct: given.CheckDraws = 0,
    local: given.Local = False,
) -> None:
    """Check again whether a run can be trusted."""
    from tsnl.checks.checks import enough_replicates
    from tsnl.cli.model_file import Crew
    from tsnl.cli.runs import check_run, opened

    enough_replicates(replicates)
    with opened(run, model, Crew(in_process=in_process)) as (result, can_simulate):
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
    time: given.Time = None,
    model: given.Simulator = None,
    seed: given.FixedSeed = 0,
) -> None:
    """Forecast the rows after the series; write quantiles and a picture."""
    from tsnl.cli.data import read_inputs
    from tsnl.cli.forecasting import write_forecast
    from tsnl.cli.form import Form
    from tsnl.cli.runs import read_run

    chosen: Any = source
    result, _ = read_run(run, model)
    end = result.problem.length
    known = read_inputs(inputs, Form(time=time), result.problem.when, range(end, end + horizon))
    found = result.forecast(horizon, chosen, inputs=known, seed=seed)
    path, picture = write_forecast(found, run / "forecast.csv" if out is None else out)
    typer.echo(path.read_text().rstrip())
    typer.echo(f"Forecast: {path}, {picture}")
