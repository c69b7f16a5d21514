"""Were there enough simulations?"""

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from tsnl.checks.draws import log_likelihoods, member_log_likelihoods, weights
from tsnl.checks.verdict import Verdict, by_shift
from tsnl.likelihood.surrogate import SurrogateLikelihood


def member_means(
    likelihood: SurrogateLikelihood, z: Float[np.ndarray, "n size"]
) -> Float[np.ndarray, "M size"]:
    """The posterior mean by each member of the ensemble alone, in sds from that of the draws."""
    alone = replace(likelihood, completion=None)  # which the members have in common
    gap = member_log_likelihoods(alone, z) - log_likelihoods(alone, z)[:, None]
    scaled = (z - z.mean(axis=0)) / (z.std(axis=0) + 1e-12)
    return np.stack([weights(column) @ scaled for column in gap.T])


def check_budget(result: Any, z: Float[np.ndarray, "n size"]) -> Verdict:
    """What the last round moved, and what the members of the ensemble disagree on."""
    means = member_means(result.posterior.likelihood, z)
    spread = float(
        np.sqrt(((means - means.mean(axis=0)) ** 2).sum(axis=0) / max(len(means) - 1, 1)).max()
    )
    shift = float(result.history[-1]["shift"]) if result.history else float("nan")
    worst = np.nanmax([shift, spread])
    level = by_shift(float(worst))
    method = result.method
    moved = (
        "there was one round only" if np.isnan(shift) else f"the last round moved it by {shift:.2f} sd"
    )
    sentence = f"Members of the ensemble put the posterior mean {spread:.2f} sd apart; {moved}."
    remedy = "" if level == "pass" else f"Give it one more round of {method.simulations}."
    figures = {
        "members": spread,
        "shift": None if np.isnan(shift) else shift,
        "member_means": means.tolist(),
        "simulations": len(result.history) * method.simulations,
    }
    return Verdict("budget", level, sentence, remedy, figures)
