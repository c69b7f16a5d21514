"""Methods of inference: each a frozen dataclass of options with a `run`."""

from tsnl.methods.abc.mcmc_abc import MCMCABC
from tsnl.methods.abc.rejection_abc import RejectionABC
from tsnl.methods.abc.smc_abc import SMCABC
from tsnl.methods.exact import ExactMCMC
from tsnl.methods.particle.correct import Correct
from tsnl.methods.particle.delayed_pmmh import DelayedPMMH
from tsnl.methods.particle.pmmh import PMMH
from tsnl.methods.sequential.snl import SNL
from tsnl.methods.sequential.tsnl import TSNL

METHODS = (TSNL, SNL, SMCABC, RejectionABC, MCMCABC, PMMH, ExactMCMC, Correct, DelayedPMMH)

__all__ = [
    "MCMCABC",
    "METHODS",
    "PMMH",
    "SMCABC",
    "SNL",
    "TSNL",
    "Correct",
    "DelayedPMMH",
    "ExactMCMC",
    "RejectionABC",
]
