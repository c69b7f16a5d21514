"""Earthquakes that set off others: the simulator is a program in C."""

import subprocess
from pathlib import Path

import numpy as np
import numpyro.distributions as dist

import tsnl
from examples.gallery.analysis import Analysis, read

HERE = Path(__file__).parent


def compiled(folder: Path = Path("out/gallery")) -> Path:
    """The program, compiled where it is older than its source."""
    source, program = HERE / "hawkes.c", folder.absolute() / "hawkes"
    folder.mkdir(parents=True, exist_ok=True)
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["cc", "-O2", "-o", program, source, "-lm"], check=True)
    return program


def model() -> tsnl.Program:
    """The simulator: a command."""
    return tsnl.Program([str(compiled())], timeout=10)


PRIOR = tsnl.Prior(
    background=dist.LogNormal(np.log(8), 0.7),  # quakes a year that nothing set off
    branching=dist.Beta(2, 2),  # quakes that one sets off
    delay=dist.LogNormal(np.log(2), 1.0),  # years until it does, on average
)

ANALYSIS = Analysis(
    name="earthquakes",
    title="Major earthquakes, 1900 to 2006: a simulator in C",
    model=model,
    prior=PRIOR,
    data=read("earthquakes.csv", "earthquakes of magnitude 7 or more"),
    held_out=10,
    budget=600,
    rival=tsnl.SMCABC(max_cost=500_000),
)
