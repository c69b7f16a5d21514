"""From a batch of theta to a batch of series, and what it cost."""

from tsnl.simulation.batch import Simulations, simulate

__all__ = ["Simulations", "simulate"]
