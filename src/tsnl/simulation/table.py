"""Simulations made elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tsnl.runtime.arrays import as_numbers


@dataclass(frozen=True)
class Table:
    """Parameters and the series that were simulated at them, by whatever program.

    `TSNL` and `SNL` learn from all of it in one round, call no simulator, and report a cost of 0. The
    parameters need not come from the prior: a likelihood is learned given theta, so that where theta was
    drawn does not bias it, as long as the draws cover where the posterior is.

    Attributes:
        theta: name to array (n, *event); every name of the prior, and no other.
        series: (n, T) or (n, T, d_y), T that of the observed series; NaN from the row where a simulation
            failed. Kept as (n, T, d_y).
    """

    can_simulate: ClassVar[bool] = False
    has_density: ClassVar[bool] = False

    theta: Mapping[str, Any]
    series: Any

    def __post_init__(self) -> None:
        theta = {name: as_numbers(value) for name, value in self.theta.items()}
        series = as_numbers(self.series)
        series = series[:, :, None] if series.ndim == 2 else series
        if series.ndim != 3 or 0 in series.shape:
            raise ValueError(
                f"The table's series have shape {np.shape(self.series)}, expected (n, T) or (n, T, d_y)."
            )
        counts = {name: value.shape[0] if value.ndim else None for name, value in theta.items()}
        if not theta or set(counts.values()) != {len(series)}:
            raise ValueError(
                f"The table has {len(series)} series and theta with the leading axes {counts}: expected "
                f"one row of each parameter for each series."
            )
        object.__setattr__(self, "theta", theta)
        object.__setattr__(self, "series", series)

    @property
    def parameters(self) -> dict[str, Any]:
        """Nothing has a value of its own."""
        return {}

    def __len__(self) -> int:
        return len(self.series)
