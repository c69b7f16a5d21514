"""Were there enough simulations?"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from tsnl.checks.draws import log_likelihoods, member_log_likelihoods, weights
from tsnl.checks.verdict import Verdict, by_shift
from tsnl.likelihood.surrogate import SurrogateLikelihood
from tsnl.runtime.reader import remedy


def member_means(
    likelihood: SurrogateLikelihood, z: Float[np.ndarray, "n size"]
) -> Float[np.ndarray, "M size"]:
    """The posterior mean by each member of the ensemble alone, in sds from that of the draws."""
    alone = replace(likelihood, completion=None)  # which the members have in common
    gap = member_log_likelihoods(alone, z) - log_likelihoods(alone, z)[:, None]
    scaled = (z - z.mean(axis=0)) / (z.std(axis=0) + 1e-12)
    return np.stack([weights(column) @ scaled for column in gap.T])


def check_budget(
    likelihood: SurrogateLikelihood,
    history: Sequence[Mapping[str, Any]],
    z: Float[np.ndarray, "n size"],
) -> Verdict:
    """What the last round moved, and what the members of the ensemble disagree on.

    Args:
        likelihood: the learned one.
        history: a record of each round, in which `simulations` are those of all rounds so far.
        z: unconstrained posterior draws.
    """
    means = member_means(likelihood, z)
    shares = np.asarray(likelihood.kernel.shares, dtype=float)
    spread = weighted_sd(means, shares)
    shift = float(history[-1]["shift"]) if history else float("nan")
    level = by_shift(float(np.nanmax([shift, spread])))
    moved = (
        "there was one round only"
        if np.isnan(shift)
        else f"the last round moved the posterior by {shift:.2f} sd"
    )
    counts = [0, *(int(record["simulations"]) for record in history)]
    figures = {
        "members": spread,
        "shift": None if np.isnan(shift) else shift,
        "member_means": means.tolist(),
        "simulations": counts[-1],
    }
    sentence = f"The ensemble's posterior means differ by {spread:.2f} sd; {moved}."
    return Verdict("budget", level, sentence, "" if level == "pass" else _remedy(counts), figures)


def weighted_sd(means: Float[np.ndarray, "M size"], shares: Float[np.ndarray, " M"]) -> float:
    """The largest standard deviation of a column, of members that count as much as their shares."""
    square = shares @ (means - shares @ means) ** 2
    return float(np.sqrt(square / max(1 - (shares**2).sum(), 1e-12)).max())


def _remedy(counts: Sequence[int]) -> str:
    """One more round like the last one."""
    num = counts[-1] - counts[-2]
    how = remedy(
        python=f"result.refine(simulations={num}, seed=...)",
        command=f"tsnl refine RUN --simulations {num}",
    )
    return f"Run one more round of {num} simulations: {how}."
