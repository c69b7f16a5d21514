"""Truncated sequential neural likelihood for state-space models.

The names below are imported when they are first used, so that worker processes start without JAX.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tsnl import density, likelihood, models, simulation
    from tsnl.forecast import Forecast
    from tsnl.inference import infer
    from tsnl.methods import MCMCABC, PMMH, SMCABC, SNL, TSNL, ExactMCMC, RejectionABC
    from tsnl.models.base import StateSpaceModel
    from tsnl.prior import Prior
    from tsnl.result import Result, load
    from tsnl.sampling import MCMC
    from tsnl.series import as_series
    from tsnl.simulation import BlackBox, Program, Table
    from tsnl.states import States
    from tsnl.training import Training

__version__ = "0.1.0"

__all__ = [
    "MCMC",
    "MCMCABC",
    "PMMH",
    "SMCABC",
    "SNL",
    "TSNL",
    "BlackBox",
    "ExactMCMC",
    "Forecast",
    "Prior",
    "Program",
    "RejectionABC",
    "Result",
    "StateSpaceModel",
    "States",
    "Table",
    "Training",
    "as_series",
    "density",
    "infer",
    "likelihood",
    "load",
    "models",
    "simulation",
]

_HOMES = {
    "BlackBox": "simulation",
    "ExactMCMC": "methods",
    "Forecast": "forecast",
    "MCMC": "sampling",
    "MCMCABC": "methods",
    "PMMH": "methods",
    "Prior": "prior",
    "Program": "simulation",
    "RejectionABC": "methods",
    "Result": "result",
    "SMCABC": "methods",
    "SNL": "methods",
    "StateSpaceModel": "models.base",
    "States": "states",
    "TSNL": "methods",
    "Table": "simulation",
    "Training": "training",
    "as_series": "series",
    "infer": "inference",
    "load": "result",
}
_ROOMS = {
    *("calibration", "density", "diagnostics", "experiments", "likelihood"),
    *("metrics", "models", "plots", "report", "simulation", "uniformity"),
}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"tsnl.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'tsnl' has no attribute {name!r}")
    value = getattr(import_module(f"tsnl.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
