"""Methods of inference: each a frozen dataclass of options with a `run`."""

from tsnl.methods.snl import SNL
from tsnl.methods.tsnl import TSNL

__all__ = ["SNL", "TSNL"]
