"""Methods of inference: each a frozen dataclass of options with a `run`."""

from tsnl.methods.smc_abc import SMCABC
from tsnl.methods.tsnl import TSNL

__all__ = ["SMCABC", "TSNL"]
