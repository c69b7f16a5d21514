"""Sequential neural likelihood: propose, simulate, learn, sample, repeat."""

import time
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key

from tsnl.kernel import Kernel, Scaling, fit_scaling
from tsnl.kernel.lag import LagChoice
from tsnl.kernel.memory import Past
from tsnl.methods.api import Outcome
from tsnl.methods.sequential.learning import Plan, decide_lag, learn
from tsnl.methods.sequential.record import PHASES, Before, Finished, RoundStore, record, rougher
from tsnl.methods.sequential.simulated import (
    Simulated,
    add_simulations,
    add_table,
    choose,
    propose,
    warn_if_far,
)
from tsnl.posterior import Posterior, sample_posterior
from tsnl.problem import Problem
from tsnl.runtime.progress import Progress
from tsnl.sampling import MCMC, Draws
from tsnl.simulation import Table

CONVERGED = 0.15  # shift of mean and of log sd, in posterior sds, below which a round was idle
ROUGH = 0.5  # share of the training steps in a round that is only proposed from


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
        store = problem.store if isinstance(problem.store, RoundStore) else None
        kept = None if store is None else store.get_round(round_, plan, problem)
        if isinstance(problem.model, Table):
            add_table(problem, simulated, problem.model)
        else:
            z = propose(keys[0], rng, problem, self.z, count, plan.widen)
            add_simulations(self.key_simulate, problem, simulated, z, int(simulated.round_.max()) + 1)
        if self.z is None:
            self.look_at_first(None if kept is None else kept.lag)
        clock.append(time.perf_counter())
        if kept is not None:
            self.posterior = self.posterior_of(kept.kernel)
            return self.finish(kept)

        self.tell(round_, 1)
        chosen = choose(plan.strategy, simulated, problem, plan.simulations)
        past = Past(self.lag.lag, plan.decays, plan.d_u(problem))
        effort, sampler = self.effort(round_)
        kernel, fit = learn(keys[1], rng, simulated, chosen, self.scaling, plan, past, problem, effort)
        clock.append(time.perf_counter())

        self.tell(round_, 2)
        self.posterior = self.posterior_of(kernel)
        draws = self.sample(keys[2], sampler)
        clock.append(time.perf_counter())
        done = Finished(kernel, draws, record(simulated, fit, draws, self.z, clock), self.lag)
        if store is not None:
            store.put_round(round_, done)
        return self.finish(done)

    def finish(self, done: Finished) -> float:
        """Take over what a round came to; how far it moved the posterior."""
        self.draws, self.z = done.draws, done.draws.z
        self.history.append(done.record)
        return done.record["shift"]

    def posterior_of(self, kernel: Kernel) -> Posterior:
        """What a kernel says of the observed series."""
        likelihood = self.plan.likelihood(kernel, self.problem, self.simulated.completion())
        return Posterior(self.problem.prior, likelihood)

    def look_at_first(self, lag: LagChoice | None) -> None:
        """Units and lag, if it is not known yet, from the first round's simulations."""
        count = self.simulated.count
        first, z = self.simulated.series[:count], self.simulated.z[:count]
        inputs = None if self.plan.whole else self.simulated.inputs[:count]
        self.scaling = fit_scaling(self.plan.rows(first), z, self.plan.transform, inputs)
        warn_if_far(np.concatenate(self.problem.panel), first)
        question = (self.plan, self.simulated, self.scaling, self.problem)
        self.lag = decide_lag(self.key_lag, *question) if lag is None else lag

    def effort(self, round_: int) -> tuple[float, MCMC]:
        """Share of the training, and the sampler: a kernel that is only proposed from may be rough.

        The last round gets all, and so does every round that decides whether there is another.
        """
        more = self.plan.affordable(self.simulated.cost, self.problem.length) > 0
        rough = more and round_ + 1 < self.plan.rounds and self.plan.stop == "never"
        return (
            (ROUGH, rougher(self.plan.sampler, self.plan.simulations))
            if rough
            else (1.0, self.plan.sampler)
        )

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
