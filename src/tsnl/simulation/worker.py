"""What runs on a worker: a few simulations, whose failures are results like any other."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from jaxtyping import Float

from tsnl.runtime.arrays import as_numbers
from tsnl.simulation.blackbox import HostSimulator, SimulationError
from tsnl.simulation.chunk import Chunk, Failure, Task
from tsnl.simulation.deadline import TimedOutError

MOST = 300  # characters of a reason


def run_task(
    simulator: HostSimulator, entropy: tuple[int, ...], length: int, num_columns: int | None, task: Task
) -> Chunk:
    """Run the simulations of a task, one after the other.

    Args:
        simulator: what to run.
        entropy: of the run's key; simulation i draws from it and from i alone.
        length: T, rows that a series must have.
        num_columns: d_y, or None to take that of the first series.
        task: numbers and parameters.
    """
    rows: list[np.ndarray | None] = []
    failures: list[Failure] = []
    for i in range(task.count):
        number = task.first + i
        rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(number,)))
        theta = {**simulator.parameters, **{name: _own(value[i]) for name, value in task.theta.items()}}
        inputs = None if task.inputs is None else np.array(task.inputs[i])
        try:
            found = simulator.one(rng, theta, length, inputs)
            rows.append(checked(found, length, num_columns))
        except (Exception, SystemExit, TimedOutError) as error:
            rows.append(None)
            failures.append(Failure(number, reason_of(error, simulator.timeout)[:MOST]))
    there = [row for row in rows if row is not None]
    width = num_columns or (there[0].shape[1] if there else 1)
    nothing = np.full((length, width), np.nan)
    series = np.stack([nothing if row is None else row for row in rows])
    return Chunk.of(task, series, failures)


def checked(found: Any, length: int, num_columns: int | None) -> Float[np.ndarray, "T d_y"]:
    """A series in its one shape, and in memory of its own: a simulator may use a buffer again.

    Raises:
        SimulationError: it has another.
    """
    try:
        series = as_numbers(found)
    except (TypeError, ValueError) as error:
        raise SimulationError(f"returned no numbers ({error})") from error
    rows = series[:, None] if series.ndim == 1 else series
    expected = (length, rows.shape[-1] if rows.ndim == 2 and num_columns is None else num_columns)
    if rows.shape != expected:
        raise SimulationError(
            f"returned shape {series.shape}, expected {expected}: as many rows and columns as the "
            f"observed series has"
        )
    return rows


def reason_of(error: BaseException, timeout: float | int | None) -> str:
    """What happened, in a few words."""
    if isinstance(error, TimedOutError):
        return f"timed out after {timeout:g} s"
    if isinstance(error, SimulationError):
        return str(error)
    text = str(error).strip().split("\n")[0]
    return f"raised {type(error).__name__}" + (f": {text}" if text else "")


FILE_MODULE = "tsnl_file_"  # how the names begin of modules that `load_file` loads


def load_file(path: str | Path) -> ModuleType:
    """The module in a Python file, under a name that depends on the file's name alone.

    What it defines can go to the workers of `Processes(..., file=path)`, who load the same file so. As
    with `python path`, it can import what lies beside it, then and later.
    """
    path = Path(path).resolve()
    name = f"{FILE_MODULE}{path.stem}"
    if name in sys.modules and sys.modules[name].__file__ == str(path):
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is no Python file: its name must end in .py.")
    beside = str(path.parent)
    if beside not in sys.path:
        sys.path.insert(0, beside)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it runs: dataclasses and pickle look it up
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _own(value: Any) -> Any:
    """A 64-bit NumPy scalar, or an array that may be written to."""
    return np.array(value, dtype=np.float64)[()]
