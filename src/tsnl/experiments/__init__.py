"""The problems and experiments of the paper."""

from tsnl.experiments.problems import LINEAR, PREDATOR_PREY, VOLATILITY, Setting

__all__ = ["LINEAR", "PREDATOR_PREY", "VOLATILITY", "Setting"]
