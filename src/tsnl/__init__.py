"""Truncated sequential neural likelihood for state-space models.

The names below are imported when they are first used, so that worker processes start without JAX.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tsnl import kernel, likelihood, models, simulation
    from tsnl.evaluate.models import compare_models
    from tsnl.inference import infer
    from tsnl.kernel.training import Training
    from tsnl.methods import (
        MCMCABC,
        PMMH,
        SMCABC,
        SNL,
        TSNL,
        Correct,
        DelayedPMMH,
        ExactMCMC,
        RejectionABC,
    )
    from tsnl.methods.api import Method
    from tsnl.models import StateSpaceModel
    from tsnl.predict.forecast import Forecast
    from tsnl.predict.states import States
    from tsnl.problem import Prior, as_series
    from tsnl.result import Result, load
    from tsnl.sampling import MCMC
    from tsnl.simulation import BlackBox, Program, Table
    from tsnl.store.registry import register

__version__ = "0.1.0"

__all__ = [
    "MCMC",
    "MCMCABC",
    "PMMH",
    "SMCABC",
    "SNL",
    "TSNL",
    "BlackBox",
    "Correct",
    "DelayedPMMH",
    "ExactMCMC",
    "Forecast",
    "Method",
    "Prior",
    "Program",
    "RejectionABC",
    "Result",
    "StateSpaceModel",
    "States",
    "Table",
    "Training",
    "as_series",
    "compare_models",
    "infer",
    "kernel",
    "likelihood",
    "load",
    "models",
    "register",
    "simulation",
]

_HOMES = {
    "BlackBox": "simulation",
    "Correct": "methods",
    "DelayedPMMH": "methods",
    "ExactMCMC": "methods",
    "Forecast": "predict.forecast",
    "MCMC": "sampling",
    "MCMCABC": "methods",
    "Method": "methods.api",
    "PMMH": "methods",
    "Prior": "problem",
    "Program": "simulation",
    "RejectionABC": "methods",
    "Result": "result",
    "SMCABC": "methods",
    "SNL": "methods",
    "StateSpaceModel": "models",
    "States": "predict.states",
    "TSNL": "methods",
    "Table": "simulation",
    "Training": "kernel.training",
    "as_series": "problem",
    "compare_models": "evaluate.models",
    "infer": "inference",
    "load": "result",
    "register": "store.registry",
}
_ROOMS = {"checks", "evaluate", "kernel", "likelihood", "models", "predict", "show", "simulation"}


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
