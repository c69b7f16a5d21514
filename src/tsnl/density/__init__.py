"""Conditional densities q(y | context, theta) and how they are scaled and averaged."""

from tsnl.density.base import Density, Family, num_weights
from tsnl.density.flows import MAF, Spline
from tsnl.density.kernel import Kernel
from tsnl.density.mixture import Mixture
from tsnl.density.region import Region
from tsnl.density.scaling import TRANSFORMS, Scaling, Transform, fit_scaling

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
