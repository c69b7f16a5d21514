"""External programs as simulators: parameters in, a series out, as plain text."""

import csv
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tsnl.simulation.blackbox import HostSimulator, SimulationError
from tsnl.simulation.deadline import TimedOutError

TAIL = 200  # characters of what a failed program said


@dataclass(frozen=True)
class Program(HostSimulator):
    """An external program that simulates one series.

    It is given a JSON object with `parameters` (name to number or nested lists), `seed` (an integer),
    `length` (T) and, where there are any, `inputs` (T rows): on its standard input, or in a file whose
    path takes the place of `{parameters}` in the command. It writes the series to its standard output,
    or to the file whose path takes the place of `{series}`: as CSV with a row for each time (a header is
    skipped), or as JSON, a list of numbers or of rows.

    It must draw from generators seeded by `seed` alone. An exit code other than 0, text that cannot be
    read and a timeout, after which the program and all that it started are killed, are failures.

    Attributes:
        command: the program and its arguments; no shell is involved.

    The other options are those of `HostSimulator`.
    """

    command: Sequence[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.command, str) or not self.command:
            raise TypeError(
                f"command is {self.command!r}, expected the program and its arguments as a list, such "
                f"as ['./simulate', '--fast']."
            )
        object.__setattr__(self, "command", tuple(str(part) for part in self.command))

    def one(
        self, rng: np.random.Generator, theta: dict[str, Any], length: int, inputs: np.ndarray | None
    ) -> Any:
        """Run the program once."""
        facts: dict[str, Any] = {
            "parameters": {name: np.asarray(value).tolist() for name, value in theta.items()},
            "seed": int(rng.integers(2**31)),
            "length": length,
        }
        if inputs is not None:
            facts["inputs"] = inputs.tolist()
        with tempfile.TemporaryDirectory(prefix="tsnl-") as folder:
            files = {"parameters": Path(folder, "parameters.json"), "series": Path(folder, "series")}
            files["parameters"].write_text(json.dumps(facts))
            command, used = list(self.command), set()
            for name, path in files.items():
                mark = f"{{{name}}}"
                used |= {name} if any(mark in part for part in command) else set()
                command = [part.replace(mark, str(path)) for part in command]
            told = "" if "parameters" in used else json.dumps(facts)
            text = run(command, told, self.timeout)
            if "series" in used:
                if not files["series"].exists():
                    raise SimulationError("wrote no series to the file that it was given")
                text = files["series"].read_text(errors="replace")
        return read(text)


def run(command: Sequence[str], told: str, timeout: float | int | None) -> str:
    """What a command prints when it is told something; it leads a process group of its own.

    Raises:
        SimulationError: it cannot be started, or its exit code is not 0.
        TimedOutError: it took too long, and was killed with all that it started.
    """
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)
    except OSError as error:
        raise SimulationError(f"could not be started: {error}") from error
    try:
        out, err = process.communicate(told.encode(), timeout)
    except BaseException as error:  # Ctrl-C too: nothing is left running
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        if isinstance(error, subprocess.TimeoutExpired):
            raise TimedOutError from error
        raise
    if process.returncode != 0:
        said = err.decode(errors="replace").strip()[-TAIL:]
        how = f"exit code {process.returncode}"
        if process.returncode < 0:
            how = f"killed by {signal.Signals(-process.returncode).name}"
        raise SimulationError(how + (f": {said}" if said else ""))
    return out.decode(errors="replace")


def read(text: str) -> Any:
    """A series from CSV or JSON.

    Raises:
        SimulationError: it is neither.
    """
    text = text.strip()
    try:
        if text.startswith("["):
            return np.asarray(json.loads(text), dtype=np.float64)
        rows = [row for row in csv.reader(text.splitlines()) if row]
        if rows and not _numeric(rows[0]):
            rows = rows[1:]
        return np.asarray([[float(entry) for entry in row] for row in rows], dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise SimulationError(f"printed no series ({error}): {text[:60]!r}") from error


def _numeric(row: list[str]) -> bool:
    try:
        return all(float(entry) is not None for entry in row)
    except ValueError:
        return False
