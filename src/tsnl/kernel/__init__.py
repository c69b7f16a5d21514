"""Conditional densities q(y | context, theta) and how they are scaled and averaged."""

from tsnl.kernel.fitted import Kernel
from tsnl.kernel.heads.base import Density, Family, num_weights
from tsnl.kernel.heads.flows import MAF, Spline
from tsnl.kernel.heads.mixture import Mixture
from tsnl.kernel.region import Region
from tsnl.kernel.scaling import TRANSFORMS, Scaling, Transform, fit_scaling

__all__ = [
    "MAF",
    "TRANSFORMS",
    "Density",
    "Family",
    "Kernel",
    "Mixture",
    "Region",
    "Scaling",
    "Spline",
    "Transform",
    "fit_scaling",
    "num_weights",
]
