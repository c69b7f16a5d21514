"""Particle marginal Metropolis-Hastings."""

from dataclasses import dataclass
from math import erfc
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from tsnl.likelihood.estimate import Estimate
from tsnl.methods.api import Method, Outcome
from tsnl.methods.particle.budget import Ledger, allot, divide
from tsnl.methods.particle.pilot import Particles, central, choose_particles, start
from tsnl.problem import Problem
from tsnl.runtime.checked import check_fields
from tsnl.runtime.progress import Progress
from tsnl.runtime.reader import option
from tsnl.sampling import diagnostics
from tsnl.sampling.metropolis import rescue
from tsnl.sampling.pseudo_marginal import BLOCK, Chains, Path, Proposal, advance, estimates
from tsnl.store.registry import register

MAX_R_HAT, MIN_ESS = 1.05, 100  # what healthy chains stay below and reach
IDLE = 0.01  # acceptance below which a chain hardly moved


@register
@dataclass(frozen=True)
class PMMH(Method):
    r"""Random-walk Metropolis with a bootstrap filter's estimate in the place of the likelihood.

    A chain at z with estimate \(\hat p\) moves to z' with probability
    \(\min\{1, \hat p(y \mid z') p(z') / (\hat p(y \mid z) p(z))\}\); because the estimate is unbiased,
    its draws are from the exact posterior. Chains start at the best of some prior draws, search for the
    mass, get their number of particles, learn their proposal, and draw with the proposal frozen.

    Attributes:
        num_steps: kept steps of each chain.
        num_warmup: steps of each chain before, in which the proposal learns covariance and scale.
        num_chains: chains side by side.
        num_particles: particles of each filter; "auto" picks them so that the variance of the
            log-likelihood's estimate is near 1 at a central theta.
        max_cost: most calls of the dynamics (T x particles for every filter run, of every chain,
            warm-up, pilot and starting points included); None for no limit. A small budget means
            fewer chains, particles and steps.
    """

    takes_missing: ClassVar[bool] = True  # rows of NaN are skipped by the filter
    needs_density: ClassVar[bool] = True

    num_steps: int = 1000
    num_warmup: int = 500
    num_chains: int = 4
    num_particles: int | Literal["auto"] = "auto"
    max_cost: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        for name, least in (("num_steps", 20), ("num_warmup", 20), ("num_chains", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at least {least}.")
        n = self.num_particles
        if n != "auto" and n < 2:
            raise ValueError(f"num_particles is {n!r}, expected 'auto' or a number of at least 2.")
        if self.max_cost is not None and self.max_cost < 1:
            raise ValueError(f"max_cost is {self.max_cost}, expected None or a positive number.")

    def run(self, key: Key[Array, ""], problem: Problem, progress: Progress) -> Outcome:
        """Infer; see `tsnl.infer`.

        Raises:
            TypeError: the model has no `log_observation`.
            ValueError: a row is missing in part, or the budget is too small.
            FloatingPointError: the filters collapse everywhere, or no chain moves.
        """
        ledger = Ledger(problem.length, self.max_cost)
        allotted = allot(self.num_chains, self.num_warmup, self.num_particles, ledger)
        known = None if problem.inputs is None else problem.inputs[0]
        target = Estimate.of(problem.laws, problem.prior, problem.series, allotted.num_particles, known)
        progress.start("PMMH", self.num_warmup + self.num_steps)
        runner = _Runner(progress, ledger, [])
        keys = jax.random.split(key, 7)

        state = start(keys[0], target, allotted, ledger)
        goal, num_search = rate(problem.prior.size, 1.0), allotted.num_search
        chains, proposal, path = runner.steps(keys[1], target, state, "search", 0, num_search, goal)
        chains, restarted = rescue(keys[2], chains)
        auto = self.num_particles == "auto"
        centre = central(path, chains)
        chosen = choose_particles(keys[3], target, centre, auto, allotted, ledger)

        target = target.with_particles(chosen.num_particles)
        noise = 3 * chosen.variance**0.5
        chains, more = rescue(keys[2], anew(keys[4], target, chains, ledger), noise)
        runs = ledger.runs(chosen.num_particles)
        left = self.num_warmup - num_search
        num_warmup, num_steps = divide(left, self.num_steps, allotted.num_chains, runs)
        goal, end = rate(problem.prior.size, chosen.variance), num_search + num_warmup
        state = chains, proposal
        chains, proposal, _ = runner.steps(keys[5], target, state, "warm-up", num_search, end, goal)
        chains, last = rescue(keys[6], chains, noise)
        state = chains, proposal
        _, _, path = runner.steps(keys[5], target, state, "draw", end, end + num_steps, None)

        runner.history[-1] |= summary(path, chosen, restarted + more + last)
        status = self._status(path, runner.history[-1], chosen)
        progress.now(self.num_warmup + self.num_steps, status)
        return Outcome(path.z, path.log_density, ledger.cost, status, runner.history)

    def _status(self, path: Path, record: dict[str, Any], chosen: Particles) -> str:
        """What happened, in plain words."""
        num_chains, num_steps = path.log_density.shape
        text = f"finished: {num_chains} chain{'s' if num_chains > 1 else ''} of {num_steps:,} steps"
        if (num_chains, num_steps) != (self.num_chains, self.num_steps):
            text += f" (the budget did not allow {self.num_chains} of {self.num_steps:,})"
        text += f" with {chosen.num_particles} particles"
        text += f", variance of the log-likelihood {chosen.variance:.2f}"
        text += f", acceptance {record['acceptance']:.2f}; used {record['cost']:,} calls of the dynamics"
        if self.max_cost is not None:
            text += f" of {self.max_cost:,} allowed"
        if chosen.note:
            text += f"; {chosen.note}"
        idle = [i for i, a in enumerate(record["acceptances"]) if a < IDLE]
        if idle:
            text += f"; chains {idle} hardly moved: give more particles"
        if not (record["r_hat"] <= MAX_R_HAT and record["ess"] >= MIN_ESS):
            text += diagnostics.health_note(record["r_hat"], record["ess"])
            text += "; run more steps or give more particles"
        return text


@dataclass(frozen=True)
class _Runner:
    """Runs blocks of steps, pays for them, reports them and writes them down."""

    progress: Progress
    ledger: Ledger
    history: list[dict[str, Any]]

    def steps(
        self,
        key: Key[Array, ""],
        target: Estimate,
        state: tuple[Chains, Proposal],
        stage: str,
        first: int,
        last: int,
        goal: float | None,
    ) -> tuple[Chains, Proposal, Path]:
        """Steps `first` to `last - 1`; an empty path where there are none."""
        chains, proposal = state
        num_chains, size = chains.z.shape
        none = np.zeros((num_chains, 0))
        parts = [Path(np.zeros((num_chains, 0, size)), none, none)]
        for begin in range(first, last, BLOCK):
            end = min(begin + BLOCK, last)
            chains, proposal, part = advance(key, target, chains, proposal, begin, end, rate=goal)
            parts.append(part)
            self.ledger.pay(num_chains * (end - begin), target.num_particles)
            text = f"{stage:8} {target.num_particles} particles, acceptance {part.accepted.mean():.2f}"
            self.progress.now(end, f"{text}, cost {self.ledger.cost:,}")
        path = Path(*(np.concatenate(x, axis=1) for x in zip(*parts, strict=True)))
        acceptance = float(path.accepted.mean()) if last > first else float("nan")
        record = {"stage": stage, "steps": last - first, "num_particles": target.num_particles}
        self.history.append(record | {"acceptance": acceptance, "cost": self.ledger.cost})
        return chains, proposal, path


def anew(key: Key[Array, ""], target: Estimate, chains: Chains, ledger: Ledger) -> Chains:
    """Estimate again with the number of particles that was chosen: a lucky estimate is forgotten."""
    values = estimates(key, target, chains.z)
    ledger.pay(len(chains.z), target.num_particles)
    if not np.isfinite(values).any():
        raise FloatingPointError(
            f"All {len(chains.z)} filters of {target.num_particles} particles collapsed where the "
            f"chains are: no particle can explain some row of the series. Give more particles, or "
            f"compare simulations of the model with the series."
        )
    return Chains(chains.z, jnp.asarray(values))


def rate(size: int, variance: float) -> float:
    r"""The acceptance rate of a well-scaled proposal: 0.44 in one dimension, 0.234 in many.

    Noise of variance s^2 in the log-density lets even the smallest step pass only with probability
    \(2 \Phi(-s / \sqrt 2)\), and leaves the best scale about where it was (Sherlock et al., 2015).
    """
    return max(0.02, (0.234 + 0.206 / size) * erfc(variance**0.5 / 2))


def summary(path: Path, chosen: Particles, num_restarted: int) -> dict[str, Any]:
    """The kept steps in figures, ready for JSON.

    Raises:
        FloatingPointError: no chain moved at all.
    """
    if not path.accepted.any():
        raise FloatingPointError(
            f"No chain accepted any of its {path.accepted.shape[1]} steps with {chosen.num_particles} "
            f"particles, where the variance of the log-likelihood is {chosen.variance:.3g} (near 1 is "
            f"good): give more particles or {option('num_particles', 'auto')}, or raise max_cost."
        )
    return {
        "variance": chosen.variance,
        "r_hat": float(diagnostics.r_hat(path.z).max()),
        "ess": float(diagnostics.ess(path.z).min()),
        "acceptances": path.accepted.mean(axis=1).tolist(),
        "restarted_chains": num_restarted,
    }
