"""Sequential neural likelihood: propose, simulate, learn, sample, repeat."""

import time
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.density import Scaling, fit_scaling
from tsnl.lag import LagChoice
from tsnl.methods.learning import Plan, decide_lag, learn
from tsnl.methods.outcome import Outcome
from tsnl.methods.simulated import (
    Simulated,
    add_simulations,
    add_table,
    choose,
    propose,
    warn_if_far,
)
from tsnl.posterior import Posterior, sample_posterior
from tsnl.problem import Problem
from tsnl.progress import Progress
from tsnl.sampling import MCMC, Draws
from tsnl.simulation import Table
from tsnl.training import Fit
from tsnl.windows import Past

CONVERGED = 0.15  # shift of mean and of log sd, in posterior sds, below which a round was idle
ROUGH = 0.5  # share of the training steps in a round that is only proposed from
PHASES = ("simulate", "train", "sample")


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


def run_rounds(
    key: Key[Array, ""], problem: Problem, plan: Plan, progress: Progress, before: Before | None = None
) -> Outcome:
    """Algorithm 1: propose, simulate, learn the kernel, sample, repeat."""
    if isinstance(problem.model, Table):  # there is nothing to simulate in a second round
        plan = replace(plan, rounds=1, simulations=len(problem.model), max_cost=None)
    run = _Run(key, problem, plan, progress, before)
    progress.start(plan.title, plan.rounds)
    status = f"finished: all {plan.rounds} rounds run"
    if isinstance(problem.model, Table):
        status = f"finished: one round on a table of {plan.simulations} simulations"
    for round_ in range(plan.rounds):
        count = plan.affordable(run.simulated.cost, problem.length)
        if count == 0:
            status = f"stopped after round {round_}: the budget of {plan.max_cost:,} calls is used up"
            break
        moved = run.round(round_, count)
        if plan.stop == "converged" and moved < CONVERGED:
            status = f"converged after round {round_ + 1} of {plan.rounds}: "
            status += f"it moved the posterior by {moved:.2f} sd"
            break
    draws = run.draws
    assert draws is not None  # a plan has at least one round, and a budget for it
    if not draws.healthy:
        status += (
            f"; the chains need a look: R-hat {draws.r_hat:.3f}, effective size {draws.effective:.0f}"
        )
    progress.now(plan.rounds, status)
    return Outcome(
        z=draws.z,
        log_density=draws.log_density,
        cost=run.simulated.cost,
        status=status,
        history=run.history,
        posterior=run.posterior,
        lag=None if plan.whole else run.lag,
        arrays=run.simulated.arrays(),
    )


class _Run:
    """What the rounds have come to: simulations, kernel, draws and records."""

    scaling: Scaling
    lag: LagChoice
    posterior: Posterior

    def __init__(
        self,
        key: Key[Array, ""],
        problem: Problem,
        plan: Plan,
        progress: Progress,
        before: Before | None,
    ) -> None:
        self.problem, self.plan, self.progress = problem, plan, progress
        self.key_simulate, self.key, self.key_lag = jax.random.split(key, 3)
        self.draws: Draws | None = None
        self.z: np.ndarray | None = None
        self.history: list[dict[str, Any]] = []
        capacity = plan.rounds * plan.simulations
        if before is None:
            self.simulated = Simulated.none(problem, capacity)
        else:
            self.simulated = before.simulated.grown(problem, before.simulated.count + capacity)
            self.z, self.history = before.z, list(before.history)
            self.scaling, self.lag = before.scaling, before.lag

    def round(self, round_: int, count: int) -> float:
        """One round with `count` simulations; how far it moved the posterior."""
        plan, problem, simulated = self.plan, self.problem, self.simulated
        keys = jax.random.split(jax.random.fold_in(self.key, round_), 4)
        rng = np.random.default_rng(np.asarray(jax.random.key_data(keys[3])))
        clock = [time.perf_counter()]
        self.tell(round_, 0)
        if isinstance(problem.model, Table):
            add_table(problem, simulated, problem.model)
        else:
            z = propose(keys[0], rng, problem, self.z, count, plan.widen)
            add_simulations(self.key_simulate, problem, simulated, z, int(simulated.round_.max()) + 1)
        if self.z is None:
            self.look_at_first()
        clock.append(time.perf_counter())

        self.tell(round_, 1)
        chosen = choose(plan.strategy, simulated, problem, plan.simulations)
        past = Past(self.lag.lag, plan.decays, plan.d_u(problem))
        effort, sampler = self.effort(round_)
        kernel, fit = learn(keys[1], rng, simulated, chosen, self.scaling, plan, past, problem, effort)
        clock.append(time.perf_counter())

        self.tell(round_, 2)
        self.posterior = Posterior(
            problem.prior, plan.likelihood(kernel, problem, simulated.completion())
        )
        old, self.draws = self.z, self.sample(keys[2], sampler)
        self.z = self.draws.z
        clock.append(time.perf_counter())
        self.history.append(record(simulated, fit, self.draws, old, clock))
        return self.history[-1]["shift"]

    def look_at_first(self) -> None:
        """Units and lag, from the first round's simulations."""
        count = self.simulated.count
        first, z = self.simulated.series[:count], self.simulated.z[:count]
        inputs = None if self.plan.whole else self.simulated.inputs[:count]
        self.scaling = fit_scaling(self.plan.rows(first), z, self.plan.transform, inputs)
        warn_if_far(np.concatenate(self.problem.panel), first)
        self.lag = decide_lag(self.key_lag, self.plan, self.simulated, self.scaling, self.problem)

    def effort(self, round_: int) -> tuple[float, MCMC]:
        """Share of the training, and the sampler: a kernel that is only proposed from may be rough.

        The last round gets all, and so does every round that decides whether there is another.
        """
        more = self.plan.affordable(self.simulated.cost, self.problem.length) > 0
        rough = more and round_ + 1 < self.plan.rounds and self.plan.stop == "never"
        return (ROUGH, rougher(self.plan.sampler)) if rough else (1.0, self.plan.sampler)

    def sample(self, key: Key[Array, ""], sampler: MCMC) -> Draws:
        """Draws of the posterior as it is, with the draws before to start from."""
        points, spread = self.simulated.z[: self.simulated.count], None
        if self.z is not None:
            old = self.z.reshape(-1, points.shape[1])
            points = np.concatenate([points, old[:: -(-len(old) // 64)]])
            spread = np.atleast_2d(np.cov(old.T))
        return sample_posterior(key, self.posterior, points, sampler, spread)

    def tell(self, round_: int, phase: int) -> None:
        """Say how far the rounds are, with the facts of the last one."""
        text = f"round {round_ + 1}/{self.plan.rounds} {PHASES[phase]:8}"
        if self.history:
            text += f" loss {self.history[-1]['loss']:.3f} cost {self.history[-1]['cost']:,}"
        self.progress.now(round_ + phase / len(PHASES), text)


def rougher(sampler: MCMC) -> MCMC:
    """Enough draws to propose from: a look at where the posterior is, not yet the answer."""
    return replace(
        sampler,
        num_warmup=min(sampler.num_warmup, 100),
        num_draws=min(sampler.num_draws, 50),
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
