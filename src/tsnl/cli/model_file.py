"""The user's Python file: a model or a simulator, and a prior."""

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tsnl.cli.encoding import read_plain
from tsnl.problem.prior import Prior
from tsnl.simulation import BlackBox, HostSimulator, Processes, Program, as_simulator, load_file


@dataclass(frozen=True)
class ModelFile:
    """What a file defines.

    Attributes:
        path: of the file.
        model: a simulator of any kind.
        prior: over its parameters.
    """

    path: Path
    model: Any
    prior: Prior


def read_model(path: Path) -> ModelFile:
    """Run a file and take `model` or `simulate`, and `prior`, from it.

    Raises:
        ValueError: it is too large, cannot be run, or does not define them.
    """
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}: tsnl new {path} writes one to start from.")
    read_plain(path)
    try:
        module = load_file(path)
    except (Exception, SystemExit) as error:
        raise ValueError(f"{path}{_line(path, error)}: {type(error).__name__}: {error}") from error
    found = getattr(module, "model", getattr(module, "simulate", None))
    if found is None:
        raise ValueError(
            f"{path} defines neither `model` (a tsnl.StateSpaceModel) nor `simulate(rng, theta)`."
        )
    prior = getattr(module, "prior", None)
    if not isinstance(prior, Prior):
        raise ValueError(f"{path} defines no `prior`: write prior = tsnl.Prior(name=distribution, ...).")
    return ModelFile(path, as_simulator(found), prior)


def _line(path: Path, error: BaseException) -> str:
    """Where in the file it went wrong."""
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}"
    there = [f for f in traceback.extract_tb(sys.exc_info()[2]) if f.filename == str(path.resolve())]
    return f", line {there[-1].lineno}" if there else ""


@dataclass(frozen=True)
class Crew:
    """Who runs a black box.

    Attributes:
        workers: processes; None for as many as there are cores.
        timeout: seconds of one simulation.
        dask: address of a Dask scheduler whose workers to use instead.
        in_process: run it here, without a worker: faster to start, and all ends where it ends its
            process.
    """

    workers: int | None = None
    timeout: float | None = None
    dask: str | None = None
    in_process: bool = False

    def __post_init__(self) -> None:
        if self.in_process and not (self.workers is None and self.dask is None):
            raise ValueError("--in-process runs without workers: leave out --workers and --dask.")


@contextmanager
def working(file: ModelFile, crew: Crew) -> Iterator[Any]:
    """The simulator, a black box with workers to run it while the context lasts.

    A Python function runs in processes of its own, though there be but one: where it crashes or exits,
    it takes a worker down, not the run. A `Program` has a process of its own as it is.
    """
    model = file.model
    if not isinstance(model, HostSimulator):
        if crew.timeout is not None or crew.dask is not None:
            raise ValueError(f"{file.path} defines a model in JAX: --timeout and --dask are for others.")
        yield model
        return
    if crew.timeout is not None:
        model = replace(model, timeout=crew.timeout)
    count = num_cores() if crew.workers is None else crew.workers
    alone = isinstance(model, Program) and count == 1
    if model.executor is not None or crew.in_process or alone:
        yield model
    elif crew.dask is not None:
        from tsnl.cli.cluster import cluster  # needs an extra

        with cluster(crew.dask, file.path) as executor:
            yield replace(model, executor=executor)
    else:
        with Processes(count, file=file.path) as executor:
            yield replace(model, executor=executor)


def num_cores() -> int:
    """Cores that this process may use."""
    mine = getattr(os, "sched_getaffinity", None)  # not everywhere
    return len(mine(0)) if mine is not None else os.cpu_count() or 1


def without_model() -> BlackBox:
    """Stands for a simulator that a run could not keep: all that does not simulate works."""
    return BlackBox(_absent)


def _absent(rng: Any, theta: Any) -> Any:
    raise ValueError("The run does not hold its simulator: give the file with --model.")
