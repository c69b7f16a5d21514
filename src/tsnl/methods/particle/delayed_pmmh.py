"""Particle MCMC whose first stage is a learned posterior."""

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from tsnl.methods.api import Outcome
from tsnl.methods.particle.correct import (
    REFITTED,
    cost_words,
    healthy,
    moved,
    moved_words,
)
from tsnl.methods.particle.second import BEFORE, Second, require_proposal
from tsnl.methods.particle.weigh import Weigher, middle
from tsnl.problem import Problem
from tsnl.runtime.progress import Progress
from tsnl.runtime.reader import remedy
from tsnl.sampling import diagnostics
from tsnl.sampling.defensive import Defensive, values
from tsnl.sampling.delayed import Walkers
from tsnl.sampling.importance import Weights
from tsnl.sampling.pseudo_marginal import POINTS
from tsnl.store.registry import register


@register
@dataclass(frozen=True, kw_only=True)
class DelayedPMMH(Second):
    r"""Particle MCMC by delayed acceptance: a proposal runs a filter only after the kernel let it pass.

    A step hops on the first method's posterior f, mixed with a wide Student's t, from z to z', and takes
    z' with probability \(\min\{1, \hat p(y \mid z') p(z') f(z) / (\hat p(y \mid z) p(z) f(z'))\}\).
    Its draws are from the exact posterior, as those of `PMMH`; a good f makes neighbouring ones almost
    independent. The options of `Second`, and:

    Attributes:
        num_steps: kept steps of each chain.
        num_warmup: steps of each chain before.
        num_chains: chains side by side, which start at the best of some draws of f by their weights.
    """

    num_steps: int = 500
    num_warmup: int = 50
    num_chains: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("num_steps", 20), ("num_warmup", 0), ("num_chains", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at least {least}.")

    def improve(
        self, key: Key[Array, ""], problem: Problem, draft: Outcome, progress: Progress
    ) -> Outcome:
        """Draw; see `tsnl.Result.correct`.

        Raises:
            FloatingPointError: the filters collapse everywhere, or no chain moves.
        """
        before, begin = require_proposal(problem, draft), perf_counter()
        assert draft.posterior is not None
        keys = jax.random.split(key, 4)
        rng = np.random.default_rng(np.asarray(jax.random.key_data(keys[0])))
        total = self.num_warmup + self.num_steps
        progress.start("Delayed PMMH", total)
        given = (keys[1], problem, self, middle(before), self.num_chains * total, progress)
        weigher = Weigher.of(*given)
        proposal = Defensive.of(rng, draft.posterior.log_density, before, self.defensive)
        z = proposal.draw(rng, before, POINTS)
        log_p = weigher.first(keys[2], z)
        weights = Weights.of(log_p - values(proposal, z))
        even = weights.usable and weights.ess >= POINTS / 4
        cheap = proposal.refitted(z, weights, self.defensive if even else REFITTED)
        place = weights.pick(rng, self.num_chains)
        at = (z[place], values(cheap, z[place]), log_p[place])
        walkers = Walkers(*(jnp.asarray(x, z.dtype) for x in at))
        path = weigher.walk(keys[3], cheap, walkers, total)
        skip = min(self.num_warmup, path.z.shape[1] // 3)
        if not path.accepted[:, skip:].any():
            auto = remedy(
                python="num_particles='auto', raise max_cost", command="no --particles, raise --max-cost"
            )
            raise FloatingPointError(
                f"No chain accepted any of its {path.z.shape[1] - skip} steps with "
                f"{weigher.chosen.num_particles} particles: give more particles or "
                f"{auto}, or run the first method with more simulations."
            )
        found = path.z[:, skip:]
        record = self._record(weigher, found, path.accepted[:, skip:]) | moved(before, found)
        record |= {"seconds": perf_counter() - begin, "cost": draft.cost + weigher.ledger.cost}
        record["reliable"] = healthy(record)
        status = self._status(record, weigher)
        progress.now(total, status)
        return replace(
            draft,
            z=found.astype(draft.z.dtype),
            log_density=path.log_density[:, skip:],
            cost=record["cost"],
            status=status,
            history=[*draft.history, record],
            arrays={**draft.arrays, BEFORE: draft.z},
        )

    def _record(self, weigher: Weigher, z: np.ndarray, accepted: np.ndarray) -> dict[str, Any]:
        """The kept steps in figures, ready for JSON."""
        return {
            "stage": "delayed acceptance",
            "num_particles": weigher.target.num_particles,
            "variance": weigher.chosen.variance,
            "steps": z.shape[1],
            "acceptance": float(accepted.mean()),
            "r_hat": float(diagnostics.r_hat(z).max()),
            "ess": float(diagnostics.ess(z).min()),
            "chain_ess": float(diagnostics.ess(z).min()),
        }

    def _status(self, record: dict[str, Any], weigher: Weigher) -> str:
        """What happened, in plain words."""
        steps, particles = record["steps"], weigher.target.num_particles
        text = f"finished: {self.num_chains} chains of {steps:,} steps"
        if steps < self.num_steps:
            text += f" (the budget did not allow {self.num_steps:,})"
        text += f" with {particles} particles" if particles else " with the exact likelihood"
        if particles:
            text += f", variance of the log-likelihood {weigher.chosen.variance:.2f}"
        text += f", acceptance {record['acceptance']:.2f}; {moved_words(record)}"
        if weigher.chosen.note:
            text += f"; {weigher.chosen.note}"
        if not record["reliable"]:
            text += diagnostics.health_note(record["r_hat"], record["ess"])
            text += "; run more steps, or the first method with more simulations"
        return text + cost_words(weigher)
