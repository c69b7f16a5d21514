"""The Nile at Aswan: a level that wanders, and its exact answer."""

import numpy as np
import numpyro.distributions as dist

import tsnl
from examples.gallery.analysis import Analysis, read

MODEL = tsnl.models.LinearGaussian(A=1.0, H=1.0, Q=0.2, R=1.0, mu_0=10.0, Sigma_0=4.0)

PRIOR = tsnl.Prior(
    Q=dist.LogNormal(np.log(0.3), 1.0),  # of the level, a year
    R=dist.LogNormal(np.log(1.0), 1.0),  # of a year around the level
)

ANALYSIS = Analysis(
    name="nile",
    title="The Nile at Aswan, 1871 to 1970",
    model=MODEL,
    prior=PRIOR,
    data=read("nile.csv", "flow (10¹⁰ m³)"),
    held_out=15,
    budget=500,
    rival=tsnl.PMMH(),
    reference=tsnl.ExactMCMC(),
)
