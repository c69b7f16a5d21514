"""Arguments and options of the commands, with the words that help shows."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

ModelPath = Annotated[Path, Argument(help="Python file with a model or simulate, and a prior.")]
DataPath = Annotated[Path, Argument(help="CSV file with the observed series.")]
NewRows = Annotated[Path, Argument(help="CSV file with the new rows.")]
RunPath = Annotated[Path, Argument(help="Folder of a run.")]
NewFile = Annotated[Path, Argument(help="File to write, such as my_model.py.")]

Jax = Annotated[bool, Option("--jax", help="A state-space model in JAX, not a black box.")]
Out = Annotated[Path, Option(help="Folder for the run.")]
UpdatedOut = Annotated[Path | None, Option(help="Folder for the result; RUN-updated if not given.")]
CorrectedOut = Annotated[Path | None, Option(help="Folder for the result; RUN-corrected if not given.")]
ReportOut = Annotated[Path | None, Option(help="File to write; RUN/report.html if not given.")]
ForecastOut = Annotated[Path | None, Option(help="CSV file; RUN/forecast.csv if not given.")]

Config = Annotated[Path | None, Option(help="TOML file with options.")]
Method = Annotated[str | None, Option(help="TSNL (the default), SNL, SMCABC, PMMH, ...")]
Methods = Annotated[str | None, Option(help="Which: TSNL,SMCABC,... All that apply if not given.")]
Lag = Annotated[str | None, Option(help="A number, or acf, validation, aic, bic.")]
Rounds = Annotated[int | None, Option(help="Rounds of simulating and learning.")]
PerRound = Annotated[int | None, Option(help="Simulations in each round.")]
MaxCost = Annotated[int | None, Option(help="Most calls of the dynamics.")]
EachCost = Annotated[int | None, Option(help="Calls of the dynamics for each; 100 simulations.")]
Columns = Annotated[str | None, Option(help="Columns of the CSV file, by name or number: y1,y2")]
Inputs = Annotated[Path | None, Option(help="CSV file with known inputs, a line for each row.")]
Workers = Annotated[int | None, Option(min=1, help="Processes for a black box; all cores.")]
Timeout = Annotated[float | None, Option(help="Seconds for one simulation of a black box.")]
Dask = Annotated[str | None, Option(help="Address of a Dask scheduler to run a black box on.")]
Seed = Annotated[int | None, Option(help="The seed: the same one gives the same draws.")]
FixedSeed = Annotated[int, Option(help="The seed: the same one gives the same draws.")]
Title = Annotated[str | None, Option(help="Title of the report.")]
Resume = Annotated[bool, Option("--resume", help="Go on with a run that was stopped.")]
Replicates = Annotated[int, Option(help="Series to simulate for the checks; 0 for none.")]
Refit = Annotated[bool, Option(help="Check the lag by learning again with twice the lag.")]
Simulator = Annotated[Path | None, Option("--model", help="The run's Python file, to simulate.")]
NumDraws = Annotated[int, Option(help="Draws to weigh, a filter run each.")]
Particles = Annotated[int | None, Option(help="Particles of each filter; as many as needed.")]
Delayed = Annotated[bool, Option("--delayed", help="Particle MCMC behind the kernel, no weights.")]
CheckDraws = Annotated[int, Option(help="Draws to weigh by the exact likelihood; 0 for none.")]
Horizon = Annotated[int, Option(help="Rows to forecast.")]
Source = Annotated[str, Option(help="kernel, or simulator for the model's own laws.")]
