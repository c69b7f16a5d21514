"""From a batch of theta to a batch of series, and what it cost.

What needs JAX is imported when it is asked for: worker processes do without.
"""

from typing import TYPE_CHECKING, Any

from tsnl.simulation.blackbox import BlackBox, HostSimulator
from tsnl.simulation.chunk import Chunk, Failure, Store
from tsnl.simulation.limit import TooManyFailuresError
from tsnl.simulation.pool import Processes
from tsnl.simulation.program import Program
from tsnl.simulation.table import Table
from tsnl.simulation.worker import load_file

if TYPE_CHECKING:
    from tsnl.simulation.batch import Simulations, as_simulator, simulate

__all__ = [
    "BlackBox",
    "Chunk",
    "Failure",
    "HostSimulator",
    "Processes",
    "Program",
    "Simulations",
    "Store",
    "Table",
    "TooManyFailuresError",
    "as_simulator",
    "load_file",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name in ("Simulations", "as_simulator", "simulate"):
        from tsnl.simulation import batch

        return getattr(batch, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
