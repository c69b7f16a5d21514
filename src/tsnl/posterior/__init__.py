"""The posterior as a function, of other data, and as data arrive."""

from tsnl.posterior.base import Posterior, sample_posterior
from tsnl.posterior.stream import Stream

__all__ = ["Posterior", "Stream", "sample_posterior"]
