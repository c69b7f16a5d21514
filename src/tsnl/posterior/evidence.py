r"""The evidence \(p(y) = \int p(\theta) \, p(y \mid \theta) \, d\theta\) of a posterior."""

from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from tsnl.posterior.base import Posterior
from tsnl.runtime.checked import whole_number
from tsnl.runtime.seeds import key_of
from tsnl.sampling.tempering import temper

ELSEWHERE = 0.5  # sds between draws and tempered particles above which something is wrong


@dataclass(frozen=True)
class Evidence:
    r"""The log-evidence of a model.

    Attributes:
        log_evidence: \(\log p(y)\).
        se: its standard error by Monte Carlo; what a learned kernel gets wrong is not in it.
        source: where the likelihood is from: "kernel", "exact likelihood" or "particle filters".
        note: what to be careful of; empty where there is nothing.
        kernel_error: by how many nats a learned kernel puts it too high, as a few evaluations of the
            right likelihood say; None where it rests on no kernel or that was not asked, NaN where they
            cannot tell.
    """

    log_evidence: float
    se: float
    source: str
    note: str = ""
    kernel_error: float | None = None

    def __str__(self) -> str:
        text = f"log-evidence {self.log_evidence:.2f} ± {self.se:.2f}, by the {self.source}"
        return f"{text}; {self.note}" if self.note else text


def tempered_evidence(
    posterior: Posterior, *, seed: int, num_particles: int = 250, num_runs: int = 8
) -> Evidence:
    """By several runs of sequential Monte Carlo from the prior to the posterior.

    Args:
        posterior: prior and likelihood.
        seed: one integer.
        num_particles: of each run.
        num_runs: whose spread is the standard error.

    Raises:
        TypeError, ValueError: no numbers, or too few particles or runs.
        FloatingPointError: the likelihood is zero all over the prior.
    """
    whole_number("num_particles", num_particles, 20)
    whole_number("num_runs", num_runs, 2)
    keys = jax.random.split(key_of(seed), num_runs)
    given = (posterior.prior, posterior.likelihood, num_particles)
    runs = [temper(key, *given) for key in keys]
    found = np.array([run.log_evidence for run in runs])
    log_evidence = float(logsumexp(found) - np.log(num_runs))
    se = float(np.exp(found - log_evidence).std(ddof=1) / num_runs**0.5)
    source = "exact likelihood" if posterior.kernel is None else "kernel"
    z = np.concatenate([run.z for run in runs])
    return Evidence(log_evidence, se, source, _note(posterior, z))


def _note(posterior: Posterior, z: Float[np.ndarray, "n size"]) -> str:
    """Whether the particles came to where the draws are."""
    if posterior.z is None:
        return ""
    draws = posterior.z.reshape(-1, posterior.z.shape[-1])
    off = float((np.abs(z.mean(axis=0) - draws.mean(axis=0)) / draws.std(axis=0)).max())
    if off < ELSEWHERE:
        return ""
    return (
        f"the particles from the prior end {off:.1f} sd away from the draws: the likelihood has mass "
        f"where it was not learned, or the chains missed some; refine the result with more simulations"
    )
