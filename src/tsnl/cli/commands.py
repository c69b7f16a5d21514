"""The commands that begin something: arguments in, a few lines of text and files out."""

from importlib.resources import files
from pathlib import Path

import typer

from tsnl.cli import arguments as given
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
    dask: given.Dask = None,
    in_process: given.InProcess = False,
    seed: given.Seed = None,
    title: given.Title = None,
    resume: given.Resume = False,
    force: given.Force = False,
    replicates: given.Replicates = 199,
    refit: given.Refit = True,
) -> None:
    """Infer the parameters; print summary and verdicts, write run folder and report."""
    from tsnl.cli.fitting import fit_run
    from tsnl.cli.model_file import Crew
    from tsnl.cli.options import changed, read_settings

    settings = changed(
        read_settings(config),
        {
            "method": method,
            "columns": None if columns is None else tuple(columns.split(",")),
            "time": time,
            "every": every,
            "decimal": decimal,
            "encoding": encoding,
            "header": header,
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
        assignments or (),
    )
    fit_run(
        model,
        data,
        out,
        settings,
        inputs=inputs,
        crew=Crew(settings.workers, settings.timeout, dask, in_process),
        resume=resume,
        force=force,
        replicates=replicates,
        refit=refit,
    )


@app.command()
def options(method: given.MethodName = "TSNL") -> None:
    """Show every option of a method with its default, as a file for --config."""
    from tsnl.cli.options import method_kind, options_text

    typer.echo(options_text(method_kind(method)))


@app.command()
def demo(
    out: given.Out = Path("demo"),
    seed: given.FixedSeed = 0,
    force: given.Force = False,
) -> None:
    """Infer the noise of a linear model, beside the exact answer."""
    from tsnl.cli.fitting import demo_run

    demo_run(out, seed, force)
