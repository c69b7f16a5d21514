"""Arguments and options of the commands, with the words that help shows."""

from pathlib import Path
from typing import Annotated

from typer import Argument, BadParameter, Option

ModelPath = Annotated[Path, Argument(help="Python file with a model or simulate, and a prior.")]
DataPath = Annotated[Path, Argument(help="CSV file with the observed series.")]
NewRows = Annotated[Path, Argument(help="CSV file with the new rows.")]
RunPath = Annotated[Path, Argument(help="Folder of a run.")]
Runs = Annotated[list[Path], Argument(help="Folders of runs on the same data.")]
NewFile = Annotated[Path, Argument(help="File to write, such as my_model.py.")]

Jax = Annotated[bool, Option("--jax", help="A state-space model in JAX, not a black box.")]


def _folder(text: str | Path) -> Path:
    """A path that somebody meant: an empty one would be this very folder; the default is one already."""
    if not str(text).strip():
        raise BadParameter("a path with no letters in it.")
    return Path(text)


Out = Annotated[Path, Option(help="Folder for the run.", parser=_folder, metavar="PATH")]
UpdatedOut = Annotated[
    Path | None,
    Option(help="Folder for the result; RUN-updated if not given.", parser=_folder, metavar="PATH"),
]
RefinedOut = Annotated[
    Path | None,
    Option(help="Folder for the result; RUN-refined if not given.", parser=_folder, metavar="PATH"),
]
CorrectedOut = Annotated[
    Path | None,
    Option(help="Folder for the result; RUN-corrected if not given.", parser=_folder, metavar="PATH"),
]
ReportOut = Annotated[Path | None, Option(help="File to write; RUN/report.html if not given.")]
ComparisonOut = Annotated[Path, Option(help="Picture to write.")]
ForecastOut = Annotated[Path | None, Option(help="CSV file; RUN/forecast.csv if not given.")]

Config = Annotated[Path | None, Option(help="TOML file with options.")]
Method = Annotated[str | None, Option(help="TSNL (the default), SNL, SMCABC, PMMH, ...")]
Methods = Annotated[str | None, Option(help="Which: TSNL,SMCABC,... All that apply if not given.")]
Set = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any option of the method, such as widen=3 or training.max_steps=4000; may be repeated.",
    ),
]
MethodName = Annotated[str, Argument(help="TSNL, SNL, SMCABC, PMMH, ...")]
Lag = Annotated[str | None, Option(help="A number, or acf, validation, aic, bic.")]
MoreRounds = Annotated[int, Option(min=1, help="Further rounds.")]
Rounds = Annotated[int | None, Option(help="Rounds of simulating and learning.")]
MoreSimulations = Annotated[
    int | None, Option(min=1, help="Simulations in each; as many as the run had in a round.")
]
PerRound = Annotated[int | None, Option(help="Simulations in each round.")]
MaxCost = Annotated[int | None, Option(help="Most calls of the dynamics.")]
EachCost = Annotated[
    int | None, Option(help="Calls of the dynamics for each; those of 1,000 simulations.")
]
Columns = Annotated[str | None, Option(help="Columns of the CSV file, by name or number: y1,y2")]
Time = Annotated[
    str | None, Option(help="Column that says when the rows were: dates as 2024-01-31, or numbers.")
]
Every = Annotated[
    str | None, Option(help="Step of the rows, such as 1D, 15min, B, M: missing ones are filled in.")
]
Decimal = Annotated[str | None, Option(help="The decimal sign of the CSV files: . or ,")]
Encoding = Annotated[str | None, Option(help="Encoding of the CSV files, such as latin-1.")]
Header = Annotated[
    bool | None,
    Option("--header/--no-header", help="Whether the first line names the columns.", show_default=False),
]
Inputs = Annotated[Path | None, Option(help="CSV file with known inputs, a line for each row.")]
Workers = Annotated[int | None, Option(min=1, help="Processes for a black box; as many as cores.")]
InProcess = Annotated[
    bool, Option("--in-process", help="Run a black box without worker processes, in this one.")
]
Timeout = Annotated[float | None, Option(help="Seconds for one simulation of a black box.")]
Dask = Annotated[str | None, Option(help="Address of a Dask scheduler to run a black box on.")]
Seed = Annotated[int | None, Option(help="The seed: the same one gives the same draws.")]
FixedSeed = Annotated[int, Option(help="The seed: the same one gives the same draws.")]
Title = Annotated[str | None, Option(help="Title of the report.")]
Resume = Annotated[bool, Option("--resume", help="Go on with a run that was stopped.")]
Force = Annotated[bool, Option("--force", help="Delete the run that is there, and begin anew.")]
Replicates = Annotated[int, Option(help="Series to simulate for the checks; 0 for none.")]
Refit = Annotated[bool, Option(help="Check the lag by learning again with twice the lag.")]
Simulator = Annotated[Path | None, Option("--model", help="The run's Python file, to simulate.")]
Everything = Annotated[
    bool, Option("--everything", help="Draw all columns and parameters, not the first eight alone.")
]
NumDraws = Annotated[int, Option(help="Draws to weigh, a filter run each.")]
Particles = Annotated[int | None, Option(help="Particles of each filter; as many as needed.")]
Delayed = Annotated[bool, Option("--delayed", help="Particle MCMC behind the kernel, no weights.")]
CheckDraws = Annotated[int, Option(help="Draws to weigh by the exact likelihood; 0 for none.")]
Local = Annotated[bool, Option("--local", help="Ask the kernel about series simulated there too.")]
Names = Annotated[str | None, Option(help="Names of the models: a,b; the folders' if not given.")]
Scores = Annotated[bool, Option(help="Score the rows one step ahead too.")]
Horizon = Annotated[int, Option(help="Rows to forecast.")]
Source = Annotated[str, Option(help="kernel, or simulator for the model's own laws.")]
