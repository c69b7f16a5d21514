"""Truncated sequential neural likelihood for state-space models."""

from tsnl import likelihood, models, simulation
from tsnl.models.base import StateSpaceModel
from tsnl.prior import Prior
from tsnl.series import as_series

__version__ = "0.1.0"

__all__ = ["Prior", "StateSpaceModel", "as_series", "likelihood", "models", "simulation"]
