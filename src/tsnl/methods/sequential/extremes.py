"""Simulations with values so far from all others that the kernel does not see how far they are."""

import warnings

import numpy as np

from tsnl.kernel import KernelSpec, Scaling
from tsnl.kernel.scaling import LIMIT
from tsnl.methods.sequential.simulated import Simulated

FAR = 1e6  # spreads, on any scale


def count_extreme(spec: KernelSpec, scaling: Scaling, simulated: Simulated) -> dict[str, int]:
    """Simulations of the last round, and rows of them, with values that are cut or very far out."""
    rows = spec.rows(simulated.series[simulated.round_ == simulated.round_.max()])
    there = np.isfinite(rows)
    if not there.any():
        return {"extreme": 0, "extreme_rows": 0}
    limit = np.where(np.array(scaling.names()) == "none", LIMIT, FAR) * np.asarray(scaling.unit)
    middle = np.nanmedian(np.where(there, rows, np.nan), axis=(0, 1))
    far = there & (np.abs(np.where(there, rows, 0.0) - middle) > limit)
    return {"extreme": int(far.any(axis=(1, 2)).sum()), "extreme_rows": int(far.any(axis=2).sum())}


def extreme_note(record: dict[str, int]) -> str:
    """What a status adds where there are some, with a warning; "" where there are none."""
    count, rows = record.get("extreme", 0), record.get("extreme_rows", 0)
    if not count:
        return ""
    warnings.warn(
        f"{count} simulations of the last round have values more than {LIMIT:g} spreads from the middle "
        f"of all, in {rows} rows: the kernel sees them cut, and the posterior may be far off. Check the "
        f"simulator there; where such a value stands for a failure, return NaN or raise.",
        stacklevel=2,
    )
    return f"; {count} simulations of the last round have extreme values, in {rows} rows"
