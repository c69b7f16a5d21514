"""State-space models: the three laws, and the models of the paper."""

from tsnl.models.base import Filterable, StateSpaceModel
from tsnl.models.linear_gaussian import LinearGaussian
from tsnl.models.lotka_volterra import LotkaVolterra
from tsnl.models.stochastic_volatility import StochasticVolatility

__all__ = [
    "Filterable",
    "LinearGaussian",
    "LotkaVolterra",
    "StateSpaceModel",
    "StochasticVolatility",
]
