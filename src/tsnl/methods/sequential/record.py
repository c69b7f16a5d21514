"""What a round leaves: its draws, its kernel and its figures."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from tsnl.kernel import Kernel, Scaling
from tsnl.kernel.lag import LagChoice
from tsnl.kernel.training import Fit
from tsnl.methods.sequential.learning import Plan
from tsnl.methods.sequential.simulated import Simulated
from tsnl.problem import Problem
from tsnl.sampling import MCMC, Draws

PHASES = ("simulate", "train", "sample")


class Finished(NamedTuple):
    """A round that is done."""

    kernel: Kernel
    draws: Draws
    record: dict[str, Any]
    lag: LagChoice


@runtime_checkable
class RoundStore(Protocol):
    """Where finished rounds are kept, so that a run that was cut off need not run them again."""

    def get_round(self, number: int, plan: Plan, problem: Problem) -> Finished | None:
        """A finished round, or None."""
        ...

    def put_round(self, number: int, finished: Finished) -> None:
        """Keep a round."""
        ...


@dataclass(frozen=True)
class Before:
    """What earlier rounds left, for a run that goes on from them.

    Attributes:
        simulated: the simulations.
        z: unconstrained draws of the posterior as it is now.
        scaling, lag: of the kernel.
        history: their records.
    """

    simulated: Simulated
    z: Float[np.ndarray, "chain draw size"]
    scaling: Scaling
    lag: LagChoice
    history: list[dict[str, Any]]


def rougher(sampler: MCMC, num_proposals: int) -> MCMC:
    """Enough draws to propose so many from: a look at where the posterior is, not yet the answer."""
    wanted = max(50, -(-2 * num_proposals // sampler.num_chains))
    return replace(
        sampler,
        num_warmup=min(sampler.num_warmup, 100),
        num_draws=min(sampler.num_draws, wanted),
        max_r_hat=max(sampler.max_r_hat, 1.2),
        min_effective=min(sampler.min_effective, 40),
    )


def record(
    simulated: Simulated, fit: Fit, new: Draws, old: np.ndarray | None, clock: list[float]
) -> dict[str, Any]:
    """One round in figures, ready for JSON."""
    return {
        "simulations": simulated.count,
        "failed": simulated.num_failed,
        "cost": simulated.cost,
        "loss": fit.held_out_loss,
        "losses": np.nanmean(fit.history[np.isfinite(fit.history).any(axis=1)], axis=1).tolist(),
        "steps": fit.num_steps,
        "retries": fit.num_retries,
        "r_hat": new.r_hat,
        "effective": new.effective,
        "acceptance": new.acceptance,
        "restarted_chains": new.num_restarted,
        "divergences": new.num_divergent,
        "shift": float("nan") if old is None else shift(old, new.z),
        "seconds": dict(zip(PHASES, np.diff(clock).tolist(), strict=True)),
    }


def shift(old: np.ndarray, new: np.ndarray) -> float:
    """How far the posterior moved: the larger of the change in mean and in log sd, in sds of the new."""
    old, new = old.reshape(-1, old.shape[-1]), new.reshape(-1, new.shape[-1])
    sd = new.std(axis=0)
    mean = np.abs(new.mean(axis=0) - old.mean(axis=0)) / sd
    return float(max(mean.max(), np.abs(np.log(sd / old.std(axis=0))).max()))
