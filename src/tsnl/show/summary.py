"""Draws as tables of others: ArviZ's DataTree and its summary."""

import shutil
from typing import Any

import pandas as pd
from arviz_base import from_dict
from arviz_stats.summary import summary as summarise

from tsnl.methods.api import Inference


class Summary(pd.DataFrame):
    """A table that prints every column, on several lines where the terminal is narrow."""

    def __repr__(self) -> str:
        return self.to_string(line_width=shutil.get_terminal_size().columns)

    @property
    def _constructor(self) -> Any:  # what slices of it are
        return Summary


def to_arviz(result: Inference) -> Any:
    """A DataTree; see `Result.to_arviz`."""
    panel = result.problem.panel
    names = ["y"] if len(panel) == 1 else [f"y{i}" for i in range(len(panel))]
    return from_dict(
        {
            "posterior": dict(result.draws),
            "sample_stats": {"lp": result.log_density},
            "observed_data": dict(zip(names, panel, strict=True)),
        }
    )


def summary(result: Inference) -> Summary:
    """A table with a row for each free entry of theta; see `Result.summary`."""
    found = result.coordinates()  # labels may have signs that a name in a DataTree may not
    named = {f"x{i}": draws for i, draws in enumerate(found.values())}
    table = summarise(from_dict({"posterior": named}), round_to=4)
    return Summary(table.set_axis(list(found), axis=0))
