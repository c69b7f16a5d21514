"""Methods of inference: each a frozen dataclass of options with a `run`."""

from tsnl.methods.exact import ExactMCMC
from tsnl.methods.mcmc_abc import MCMCABC
from tsnl.methods.pmmh import PMMH
from tsnl.methods.rejection_abc import RejectionABC
from tsnl.methods.smc_abc import SMCABC
from tsnl.methods.snl import SNL
from tsnl.methods.tsnl import TSNL

METHODS = (TSNL, SNL, SMCABC, RejectionABC, MCMCABC, PMMH, ExactMCMC)

__all__ = ["MCMCABC", "METHODS", "PMMH", "SMCABC", "SNL", "TSNL", "ExactMCMC", "RejectionABC"]
