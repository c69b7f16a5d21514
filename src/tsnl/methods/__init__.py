"""Methods of inference: each a frozen dataclass of options with a `run`."""

from tsnl.methods.mcmc_abc import MCMCABC
from tsnl.methods.rejection_abc import RejectionABC
from tsnl.methods.smc_abc import SMCABC
from tsnl.methods.tsnl import TSNL

__all__ = ["MCMCABC", "SMCABC", "TSNL", "RejectionABC"]
