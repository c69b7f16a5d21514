"""Two models of the Nile: does the level move at all?"""

from typing import Any

import numpy as np
import numpyro.distributions as dist

import tsnl
from examples.gallery.analysis import SEED, Analysis, read

CONSTANT = tsnl.models.LinearGaussian(A=1.0, H=1.0, Q=1e-6, R=1.0, mu_0=10.0, Sigma_0=4.0)
CONSTANT_PRIOR = tsnl.Prior(R=dist.LogNormal(np.log(1.0), 1.0))

MOVING = tsnl.models.LinearGaussian(A=1.0, H=1.0, Q=0.2, R=1.0, mu_0=10.0, Sigma_0=4.0)
PRIOR = tsnl.Prior(Q=dist.LogNormal(np.log(0.3), 1.0), R=dist.LogNormal(np.log(1.0), 1.0))


def against_constant(analysis: Analysis, moving: tsnl.Result) -> dict[str, Any]:
    """Evidences by the kernels, and by the exact likelihood after a correction."""
    given = (CONSTANT, CONSTANT_PRIOR, analysis.fitted, moving.method)
    constant = tsnl.infer(*given, seed=SEED, progress=False)
    learned = tsnl.compare_models({"moving": moving, "constant": constant}, seed=SEED)
    both = {
        "moving": moving.correct(seed=SEED, progress=False),
        "constant": constant.correct(seed=SEED, progress=False),
    }
    exact = tsnl.compare_models(both, scores=False, seed=SEED)
    rows = {
        name: {
            "learned": learned.evidences[name].log_evidence,
            "learned_se": learned.evidences[name].se,
            "exact": exact.evidences[name].log_evidence,
            "exact_se": exact.evidences[name].se,
            "probability": exact.probabilities[name],
        }
        for name in both
    }
    score, score_se = learned.score_difference("moving", "constant")
    gap, se = exact.log_bayes_factor("moving", "constant")
    by_kernel, _ = learned.log_bayes_factor("moving", "constant")
    facts = {"models": rows, "log_bayes_factor": gap, "se": se, "by_kernel": by_kernel}
    return facts | {"score": score, "score_se": score_se, "scored": len(learned.scores["moving"])}


ANALYSIS = Analysis(
    name="rivals",
    title="Does the Nile's level move? Two models and their evidence",
    model=MOVING,
    prior=PRIOR,
    data=read("nile.csv", "flow (10¹⁰ m³)", rows=60),
    held_out=10,
    budget=300,
    rival=tsnl.PMMH(),
    reference=tsnl.ExactMCMC(),
    extra=against_constant,
)
