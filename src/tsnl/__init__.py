"""Truncated sequential neural likelihood for state-space models."""

from tsnl import density, likelihood, models, simulation
from tsnl.forecast import Forecast
from tsnl.infer import infer
from tsnl.methods import MCMCABC, PMMH, SMCABC, SNL, TSNL, ExactMCMC, RejectionABC
from tsnl.models.base import StateSpaceModel
from tsnl.prior import Prior
from tsnl.result import Result, load
from tsnl.sampling import MCMC
from tsnl.series import as_series
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
    "ExactMCMC",
    "Forecast",
    "Prior",
    "RejectionABC",
    "Result",
    "StateSpaceModel",
    "States",
    "Training",
    "as_series",
    "density",
    "infer",
    "likelihood",
    "load",
    "models",
    "simulation",
]
