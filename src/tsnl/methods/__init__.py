"""Methods of inference: each a frozen dataclass of options with a `run`."""

from tsnl.methods.exact import ExactMCMC
from tsnl.methods.pmmh import PMMH
from tsnl.methods.tsnl import TSNL

__all__ = ["PMMH", "TSNL", "ExactMCMC"]
