"""The learned kernel q(y_t | y_{1:t-1}, theta): a memory of the past, and a head, the density of y_t."""

from tsnl.kernel.fitted import Kernel
from tsnl.kernel.heads.base import Head, HeadFamily
from tsnl.kernel.heads.flows import MAF, Spline
from tsnl.kernel.heads.mixture import Mixture
from tsnl.kernel.member import KernelSpec
from tsnl.kernel.memory import Decays, Group, Lags, Memory, MemoryFamily
from tsnl.kernel.region import Region
from tsnl.kernel.scaling import TRANSFORMS, Scaling, Transform, fit_scaling

__all__ = [
    "MAF",
    "TRANSFORMS",
    "Decays",
    "Group",
    "Head",
    "HeadFamily",
    "Kernel",
    "KernelSpec",
    "Lags",
    "Memory",
    "MemoryFamily",
    "Mixture",
    "Region",
    "Scaling",
    "Spline",
    "Transform",
    "fit_scaling",
]
