"""Do the columns of the data fit what the simulator gives? Asked before a run begins."""

from pathlib import Path
from typing import Any

import jax
import numpy as np

from tsnl.cli.form import Data
from tsnl.models.base import StateSpaceModel, observation_shape
from tsnl.problem.prior import Prior
from tsnl.simulation import Table, simulate
from tsnl.simulation.dispatch import DIED

TRIALS = 3  # after which a simulator that ends its process is taken to do so always


def num_columns(model: Any, prior: Prior, length: int, inputs: np.ndarray | None) -> int | None:
    """Columns of a series of a simulator; None where that is not known.

    A black box is called once for it, at a draw of the prior; where that simulation fails, nothing is
    known, and the run deals with it.

    Raises:
        RuntimeError: it ends its process wherever it is called.
    """
    if isinstance(model, StateSpaceModel):
        shape = observation_shape(model, inputs)
        return shape[0] if shape else 1
    if isinstance(model, Table):
        return model.series.shape[2]
    for i in range(TRIALS):
        key = jax.random.fold_in(jax.random.key(0), i)
        theta = prior.constrain_all(prior.sample_unconstrained(key, 1))
        found = simulate(key, model, theta, length, inputs=inputs)
        if not found.failures:
            return found.series.shape[2]
        if found.failures[0].reason != DIED:
            return None
    raise RuntimeError(
        f"The simulator ended its process, by a crash or an exit, in {TRIALS} of {TRIALS} trials: call "
        f"it in Python, at some theta, to see where."
    )


def check_columns(path: Path, data: Data, expected: int | None) -> None:
    """Refuse data with other columns than the simulator gives.

    Args:
        path: of the data, for the sentence.
        data: what was read.
        expected: columns of a simulated series; None where that is not known.

    Raises:
        ValueError: which column is one too many, where that can be seen, and how to choose.
    """
    count = len(data.names)
    if expected is None or count == expected:
        return
    gives = f"{path} has {_many(count)} ({', '.join(data.names)}), the simulator gives {expected}"
    if count < expected:
        raise ValueError(f"{gives}: give data with {_many(expected)}, or mend what it returns.")
    odd = [i for i in range(count) if _what(data.rows[:, i])]
    if len(odd) == count - expected:
        reasons = ", ".join(f"{data.names[i]} {_what(data.rows[:, i])}" for i in odd)
        kept = ",".join(name for i, name in enumerate(data.names) if i not in odd)
        raise ValueError(f"{gives}, and {reasons}: take the others with --columns {kept}")
    whole = count == 2 * expected and (data.rows == np.round(data.rows)).all()
    commas = " Where 1,5 is meant as a decimal fraction, give --decimal ," if whole else ""
    example = ",".join(data.names[:expected])
    raise ValueError(f"{gives}: choose with --columns, such as --columns {example}.{commas}")


def _many(count: int) -> str:
    return f"{count} column{'' if count == 1 else 's'}"


def _what(column: np.ndarray) -> str:
    """Why a column seems to be no observation; empty where it may be one."""
    if np.isnan(column).all():
        return "is empty (a delimiter at the end of the lines?)"
    steps = np.diff(column)
    if len(steps) and (steps == steps[0]).all() and steps[0] > 0 and (column == np.round(column)).all():
        return "counts the rows"
    return ""
