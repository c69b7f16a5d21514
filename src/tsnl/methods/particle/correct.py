"""From a learned posterior to the right one, where the model has densities."""

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.methods.api import Outcome
from tsnl.methods.particle.second import BEFORE, Second, require_proposal
from tsnl.methods.particle.weigh import Weigher, middle
from tsnl.posterior import sample_posterior
from tsnl.problem import Problem
from tsnl.runtime.progress import Progress
from tsnl.runtime.reader import remedy
from tsnl.sampling import MCMC, diagnostics
from tsnl.sampling.defensive import Defensive, covariance, mixture, values
from tsnl.sampling.delayed import Walkers
from tsnl.sampling.importance import MAX_K_HAT, Weights
from tsnl.sampling.pseudo_marginal import Path
from tsnl.store.registry import register

MAX_R_HAT, MIN_ESS = 1.05, 100  # what healthy chains stay below and reach
REFITTED = 0.5  # share of the Student's t in a proposal that was refitted to weighted points
FEWEST = 50  # draws that weights need
BURN_IN = 5  # one in so many moves is left out: the chains forget where uneven weights put them


@register
@dataclass(frozen=True, kw_only=True)
class Correct(Second):
    r"""Weigh the draws of another method by the right likelihood, and move them where that is uneven.

    Points come from the first method's posterior f, mixed with a wide Student's t, and get the weights
    \(p(z) \hat p(y \mid z) / f(z)\), Pareto-smoothed; \(\hat p\) is a bootstrap filter's unbiased
    estimate, or the exact likelihood of a linear model. Where the weights are too uneven (k-hat above
    0.7, or an effective size below `min_ess`), as many points again come from where the weight is; where
    they still are, chains go on from the weighted points by delayed acceptance, the proposal being the
    first stage. The options of `Second`, and:

    Attributes:
        num_draws: points to weigh, each by a filter run; twice as many where they weigh unevenly.
        min_ess: effective size below which the weights are uneven.
        num_moves: steps of each chain where they are; 0 for none.
        num_chains: chains side by side, where they are.
    """

    num_draws: int = 600
    min_ess: int = 100
    num_moves: int = 250
    num_chains: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("num_draws", FEWEST), ("min_ess", 1), ("num_moves", 0), ("num_chains", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at least {least}.")

    def improve(
        self, key: Key[Array, ""], problem: Problem, draft: Outcome, progress: Progress
    ) -> Outcome:
        """Weigh, and move where needed; see `tsnl.Result.correct`."""
        before, begin = require_proposal(problem, draft), perf_counter()
        assert draft.posterior is not None
        keys = jax.random.split(key, 5)
        rng = np.random.default_rng(np.asarray(jax.random.key_data(keys[0])))
        progress.start("Correct", self.num_draws)
        weigher = Weigher.of(keys[1], problem, self, middle(before), self.num_draws, progress)
        pool = fresh(keys[4], draft, self.num_draws)
        proposal = Defensive.of(rng, draft.posterior.log_density, pool, self.defensive)
        found = self._weigh(keys[2], rng, weigher, proposal, pool)
        place = found.weights.pick(rng, min(self.num_draws, len(found.z)))
        z, density = found.z[place][None], found.log_p[place][None]
        record = _record(found, weigher)
        if not self._even(found.weights) and self.num_moves:
            path = self._move(keys[3], rng, weigher, found)
            skip = path.z.shape[1] // BURN_IN
            if path.z.shape[1]:
                z, density = path.z[:, skip:], path.log_density[:, skip:]
                record |= _moves(z, path.accepted)
        record |= moved(before, z) | {"seconds": perf_counter() - begin}
        record["cost"] = draft.cost + weigher.ledger.cost
        record["reliable"] = self._even(found.weights) or healthy(record)
        status = self._status(record, weigher)
        progress.now(self.num_draws, status)
        return replace(
            draft,
            z=z.astype(draft.z.dtype),
            log_density=density,
            cost=record["cost"],
            status=status,
            history=[*draft.history, record],
            arrays={**draft.arrays, BEFORE: draft.z, **found.arrays()},
        )

    def _even(self, weights: Weights) -> bool:
        return weights.usable and weights.ess >= self.min_ess

    def _weigh(
        self,
        key: Key[Array, ""],
        rng: np.random.Generator,
        weigher: Weigher,
        proposal: Defensive,
        pool: Float[np.ndarray, "n size"],
    ) -> "Weighed":
        """Points of the proposal; where they weigh unevenly, as many again from where the weight is."""
        proposals, z = [proposal], proposal.draw(rng, pool, weigher.affordable(self.num_draws))
        log_p, counts = weigher.first(key, z), [len(z)]
        weights = Weights.of(log_p - mixture(proposals, counts, z))
        more = weigher.affordable(self.num_draws)
        if not self._even(weights) and more:
            proposal = proposal.refitted(z, weights, REFITTED)
            new = proposal.draw(rng, pool, more)
            again = weigher.at(jax.random.fold_in(key, len(z)), new, "again")
            z, log_p = np.concatenate([z, new]), np.concatenate([log_p, again])
            proposals, counts = [*proposals, proposal], [*counts, more]
            weights = Weights.of(log_p - mixture(proposals, counts, z))
        return Weighed(z, log_p, weights, proposal)

    def _move(
        self, key: Key[Array, ""], rng: np.random.Generator, weigher: Weigher, found: "Weighed"
    ) -> Path:
        """Chains from weighted points by delayed acceptance, proposing where the weight is."""
        place = found.weights.pick(rng, self.num_chains)
        cheap = found.proposal.refitted(found.z, found.weights, REFITTED)
        at = (found.z[place], values(cheap, found.z[place]), found.log_p[place])
        walkers = Walkers(*(jnp.asarray(x, found.z.dtype) for x in at))
        return weigher.walk(key, cheap, walkers, self.num_moves)

    def _status(self, record: dict[str, Any], weigher: Weigher) -> str:
        """What happened, in plain words."""
        n, particles = record["draws"], weigher.target.num_particles
        text = f"corrected: {n:,} draws weighed by "
        text += f"filters of {particles} particles" if particles else "the exact likelihood"
        if n < self.num_draws:
            text += f" (the budget did not allow {self.num_draws:,})"
        if particles:
            text += f", variance of the log-likelihood {weigher.chosen.variance:.2f}"
        text += f"; k-hat {record['k_hat']:.2f}, effective size {record['ess']:.0f}; "
        text += moved_words(record)
        if weigher.chosen.note:
            text += f"; {weigher.chosen.note}"
        return text + self._moves_words(record) + cost_words(weigher)

    def _moves_words(self, record: dict[str, Any]) -> str:
        even = record["k_hat"] <= MAX_K_HAT and record["ess"] >= self.min_ess
        if even:
            return ""
        if "moves" not in record:
            why = "and num_moves is 0" if self.num_moves == 0 else "and no budget was left to move them"
            return f"; the weights are uneven {why}: do not rely on these draws"
        text = f"; the weights were uneven, so {self.num_chains} chains moved on {record['moves']} steps"
        text += f" each, acceptance {record['acceptance']:.2f}"
        if not healthy(record):
            text += diagnostics.health_note(record["r_hat"], record["chain_ess"])
            more = remedy(python="raise num_moves", command="weigh more draws (--draws)")
            text += f"; {more}, or run the first method with more simulations"
        return text


def fresh(key: Key[Array, ""], draft: Outcome, count: int) -> Float[np.ndarray, "n size"]:
    """Draws of the first method's posterior worth so many independent ones: more chains cost no calls.

    The error of a chain that is too short would pass through the weights unseen.
    """
    flat = draft.z.reshape(-1, draft.z.shape[-1])
    if draft.posterior is None or diagnostics.ess(draft.z).min() >= count:
        return flat
    options = MCMC(num_draws=count, min_ess=count, max_extensions=10)
    found = sample_posterior(key, draft.posterior, flat, options, covariance(flat))
    return found.z.reshape(-1, flat.shape[1])


class Weighed(NamedTuple):
    """Points, the right log-density there, their weights, and the last proposal."""

    z: Float[np.ndarray, "n size"]
    log_p: Float[np.ndarray, " n"]
    weights: Weights
    proposal: Defensive

    def arrays(self) -> dict[str, np.ndarray]:
        """What a result keeps of them."""
        return {
            "correction.z": self.z,
            "correction.log_weights": self.weights.log_weights,
            "correction.log_density": self.log_p,
        }


def _record(found: Weighed, weigher: Weigher) -> dict[str, Any]:
    """The weights in figures, ready for JSON."""
    weights = found.weights
    return {
        "stage": "correct",
        "num_particles": weigher.target.num_particles,
        "variance": weigher.chosen.variance,
        "draws": len(found.z),
        "k_hat": weights.k_hat,
        "ess": weights.ess,
        "log_evidence": weights.log_mean,
        "log_evidence_se": float(np.hypot(weights.log_mean_se, float(found.proposal.log_z_se))),
        "log_evidence_before": float(found.proposal.log_z),
    }


def _moves(z: Float[np.ndarray, "chain draw size"], accepted: np.ndarray) -> dict[str, Any]:
    return {
        "moves": accepted.shape[1],
        "acceptance": float(accepted.mean()),
        "r_hat": float(diagnostics.r_hat(z).max()) if len(z) > 1 else float("nan"),
        "chain_ess": float(diagnostics.ess(z).min()),
    }


def healthy(record: dict[str, Any]) -> bool:
    """Whether there were chains, and they agree."""
    size = record.get("chain_ess", 0.0)
    return record.get("r_hat", np.inf) <= MAX_R_HAT and size >= MIN_ESS


def moved(before: Float[np.ndarray, "n size"], z: np.ndarray) -> dict[str, float]:
    """How far the draws are from those before, in sds of the new: their means, and their log sds."""
    after = z.reshape(-1, z.shape[-1]).astype(np.float64)
    sd = after.std(axis=0) + 1e-12
    ratio = (before.std(axis=0, dtype=np.float64) + 1e-12) / sd
    return {
        "mean_shift": float((np.abs(after.mean(axis=0) - before.mean(axis=0)) / sd).max()),
        "sd_shift": float(np.abs(np.log(ratio)).max()),
    }


def moved_words(record: dict[str, Any]) -> str:
    """How far the draws have moved, in words."""
    share = 100 * (np.exp(record["sd_shift"]) - 1)
    return f"the means moved by {record['mean_shift']:.2f} sd, the sds by {share:.0f} %"


def cost_words(weigher: Weigher) -> str:
    """What the correction cost, in words."""
    text = f"; used {weigher.ledger.cost:,} calls of the dynamics"
    limit = weigher.ledger.limit
    return text if limit is None else f"{text} of {limit:,} allowed"
