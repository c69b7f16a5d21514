"""Draws as tables of others: ArviZ's DataTree and its summary."""

from typing import Any


def to_arviz(result: Any) -> Any:
    """A DataTree; see `Result.to_arviz`."""
    from arviz_base import from_dict  # takes seconds to import

    panel = result.problem.panel
    names = ["y"] if len(panel) == 1 else [f"y{i}" for i in range(len(panel))]
    return from_dict(
        {
            "posterior": result.draws,
            "sample_stats": {"lp": result.log_density},
            "observed_data": dict(zip(names, panel, strict=True)),
        }
    )


def summary(result: Any) -> Any:
    """A table with a row for each free entry of theta; see `Result.summary`."""
    from arviz_base import from_dict
    from arviz_stats.summary import summary as summarise

    found = result.coordinates()  # labels may have signs that a name in a DataTree may not
    named = {f"x{i}": draws for i, draws in enumerate(found.values())}
    return summarise(from_dict({"posterior": named}), round_to=4).set_axis(list(found), axis=0)
