"""A fit from files to a run folder with a report."""

import time
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import typer

from tsnl.checks.checks import enough_replicates
from tsnl.cli.columns import check_columns, num_columns
from tsnl.cli.data import read_csv, read_inputs
from tsnl.cli.model_file import Crew, read_model, working
from tsnl.cli.options import Settings, make_method, to_toml
from tsnl.cli.runs import (
    CONFIG,
    Question,
    check_run,
    kept_title,
    make_place,
    one_way,
    opened,
    read_checks,
    report_run,
    run_into,
)
from tsnl.cli.text import sentence, summary_text
from tsnl.methods import TSNL, ExactMCMC
from tsnl.models import LinearGaussian
from tsnl.problem import Prior, Problem
from tsnl.result import Result
from tsnl.store.files import write_text


def fit_run(
    model_path: Path,
    data_path: Path,
    out: Path,
    settings: Settings,
    *,
    inputs: Path | None,
    crew: Crew,
    resume: bool,
    force: bool,
    replicates: int,
    refit: bool,
) -> None:
    """See `tsnl fit`."""
    one_way(resume, force)
    enough_replicates(replicates)
    file = read_model(model_path)
    method = make_method(settings)  # which the file may have registered
    data = read_csv(data_path, settings.columns, settings.form)
    known = read_inputs(inputs, settings.form.of_inputs, data.times, range(len(data.rows)))
    title = settings.title or f"{', '.join(file.prior.names)} from {data_path.name}, {model_path.name}"
    settings = replace(settings, title=title)
    with working(file, crew) as simulator:
        check_columns(data_path, data, num_columns(simulator, file.prior, len(data.rows), known))
        if not resume:
            make_place(out, force)
        begin = time.perf_counter()
        question = Question(simulator, file.prior, data.series, known)
        result = run_into(out, question, method, settings, resume)
        seconds = time.perf_counter() - begin
        finish(out, result, seconds, title, replicates, refit)


def refine_run(
    folder: Path,
    out: Path,
    model_path: Path | None,
    crew: Crew,
    *,
    rounds: int,
    simulations: int | None,
    seed: int | None,
    title: str | None,
    replicates: int,
    refit: bool,
    force: bool,
) -> None:
    """See `tsnl refine`."""
    enough_replicates(replicates)
    make_place(out, force, can_resume=False)
    with opened(folder, model_path, crew) as (result, can_simulate):
        if not can_simulate:
            raise ValueError(f"{folder} does not hold its simulator: give the file with --model.")
        count = getattr(result.method, "simulations", 1) if simulations is None else simulations
        first = result.seed if seed is None else seed
        begin = time.perf_counter()
        for _ in range(rounds):  # each with a seed that no earlier round of this run had
            result = result.refine(simulations=count, seed=first + len(result.history))
        seconds = time.perf_counter() - begin
        result.save(out)
        title = title or kept_title(folder) or f"{folder.name}, refined"
        settings = Settings(seed=result.seed, title=title)
        write_text(out / CONFIG, to_toml(settings, result.method))
        finish(out, result, seconds, title, replicates, refit)


def finish(out: Path, result: Result, seconds: float, title: str, replicates: int, refit: bool) -> None:
    """Print summary and verdicts, write the report, say where it is.

    Verdicts that the run has already, from before it was resumed, stay.
    """
    typer.echo(summary_text(result))
    typer.echo(f"{sentence(result.status)}; {result.cost:,} calls of the dynamics, {seconds:.0f} s.\n")
    try:
        checks = read_checks(out) or check_run(out, result, replicates, refit)
        typer.echo(f"{checks}\n")
        path = report_run(out, result, checks, title, replicates=replicates)
    except KeyboardInterrupt:
        hint = f"the run is finished and kept; go on by tsnl check {out}, then tsnl report {out}."
        typer.echo(f"\ntsnl: stopped during the checks; {hint}", err=True)
        raise
    typer.echo(f"Run: {out}\nReport: {path}")


def demo_run(out: Path, seed: int, force: bool) -> None:
    """See `tsnl demo`."""
    make_place(out, force)
    title = "Demo: the noise of a linear model"
    model, prior = LinearGaussian(), Prior(Q=dist.LogNormal(np.log(0.3), 1.0))
    question = Question(model, prior, model.simulate(seed=1, length=100))
    method = TSNL()
    begin = time.perf_counter()
    result = run_into(out, question, method, Settings(seed=seed, title=title))
    seconds = time.perf_counter() - begin
    mean, sd = exact_moments(result.problem)
    draws = result.draws["Q"]
    typer.echo("A linear series of 100 rows, its noise variance Q unknown (the truth is 0.1).\n")
    typer.echo(f"{'':24}{'mean':>8}{'sd':>8}")
    typer.echo(f"{'exact, Kalman filter':24}{mean:8.4f}{sd:8.4f}")
    typer.echo(f"{'T-SNL, simulator only':24}{draws.mean():8.4f}{draws.std():8.4f}\n")
    finish(out, result, seconds, title, 199, True)


def exact_moments(problem: Problem) -> tuple[float, float]:
    """Mean and sd of Q in the exact posterior of the demo's problem, by quadrature over z = log Q."""
    z = np.linspace(np.log(0.005), np.log(2.0), 500)
    with jax.enable_x64(True):
        log_p = np.asarray(jax.vmap(ExactMCMC().exact_posterior(problem))(jnp.asarray(z)[:, None]))
    weights = np.exp(log_p - log_p.max())
    weights /= weights.sum()
    mean = float(weights @ np.exp(z))
    return mean, float(np.sqrt(weights @ (np.exp(z) - mean) ** 2))
