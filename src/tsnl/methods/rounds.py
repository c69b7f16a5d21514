"""Sequential neural likelihood: propose, simulate, learn, sample, repeat."""

import time
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key

from tsnl.density import Scaling, fit_scaling
from tsnl.likelihood.surrogate import SurrogateLikelihood
from tsnl.methods.learning import Plan, decide_lag, learn
from tsnl.methods.outcome import Outcome
from tsnl.methods.simulated import Simulated, add_simulations, choose, propose, warn_if_far
from tsnl.posterior import Posterior, sample_posterior
from tsnl.problem import Problem
from tsnl.progress import Progress
from tsnl.sampling import Draws
from tsnl.training import Fit
from tsnl.windows import Past

CONVERGED = 0.15  # shift of mean and of log sd, in posterior sds, below which a round was idle


def run_rounds(key: Key[Array, ""], problem: Problem, plan: Plan, progress: Progress) -> Outcome:
    """Algorithm 1: propose, simulate, learn the kernel, sample, repeat."""
    simulated = Simulated.none(problem, plan.rounds * plan.simulations)
    key_simulate, key_rounds, key_lag = jax.random.split(key, 3)
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key_rounds)))
    scaling: Scaling | None = None
    draws: Draws | None = None
    history: list[dict[str, Any]] = []
    status = f"finished: all {plan.rounds} rounds run"
    progress.start(plan.title, plan.rounds)
    for round_ in range(plan.rounds):
        clock = [time.perf_counter()]
        keys = jax.random.split(jax.random.fold_in(key_rounds, round_), 3)
        told = _Teller(progress, round_, plan.rounds, history)
        told.phase("simulate")
        z = propose(keys[0], rng, problem, draws, plan.simulations, plan.widen)
        add_simulations(key_simulate, problem, simulated, z, round_)
        if scaling is None:
            first = simulated.series[: simulated.count]
            scaling = fit_scaling(plan.rows(first), simulated.z[: simulated.count], plan.transform)
            warn_if_far(problem.series, first)
            lag = decide_lag(key_lag, plan, simulated, scaling, problem.series)
            past = Past(lag.lag, plan.decays)
        clock.append(time.perf_counter())

        told.phase("train")
        chosen = choose(plan.strategy, simulated, problem.series, plan.simulations)
        kernel, fit = learn(keys[1], rng, simulated, chosen, scaling, plan, past)
        clock.append(time.perf_counter())

        told.phase("sample")
        posterior = Posterior(problem.prior, SurrogateLikelihood.of(kernel, plan.observed(problem)))
        new = sample_posterior(keys[2], posterior, simulated.z[: simulated.count], plan.sampler)
        clock.append(time.perf_counter())

        history.append(record(simulated, fit, new, draws, clock))
        draws = new
        if plan.stop == "converged" and history[-1]["shift"] < CONVERGED:
            status = (
                f"converged after round {round_ + 1} of {plan.rounds}: it moved the posterior by "
                f"{history[-1]['shift']:.2f} sd"
            )
            break
    if not new.healthy:
        status += f"; the chains need a look: R-hat {new.r_hat:.3f}, effective size {new.effective:.0f}"
    progress.now(plan.rounds, status)
    return Outcome(new.z, new.log_density, simulated.cost, status, history, posterior, lag)


@dataclass(frozen=True)
class _Teller:
    """Tells how far the rounds are, with the facts of the last one."""

    progress: Progress
    round_: int
    rounds: int
    history: list[dict[str, Any]]

    def phase(self, name: str) -> None:
        """A phase begins: simulate, train or sample, about equally long."""
        text = f"round {self.round_ + 1}/{self.rounds} {name:8}"
        if self.history:
            text += f" loss {self.history[-1]['loss']:.3f} cost {self.history[-1]['cost']:,}"
        self.progress.now(self.round_ + ("simulate", "train", "sample").index(name) / 3, text)


def record(
    simulated: Simulated, fit: Fit, new: Draws, old: Draws | None, clock: list[float]
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
        "shift": float("nan") if old is None else shift(old.z, new.z),
        "seconds": dict(zip(("simulate", "train", "sample"), np.diff(clock).tolist(), strict=True)),
    }


def shift(old: np.ndarray, new: np.ndarray) -> float:
    """How far the posterior moved: the larger of the change in mean and in log sd, in sds of the new."""
    old, new = old.reshape(-1, old.shape[-1]), new.reshape(-1, new.shape[-1])
    sd = new.std(axis=0)
    mean = np.abs(new.mean(axis=0) - old.mean(axis=0)) / sd
    return float(max(mean.max(), np.abs(np.log(sd / old.std(axis=0))).max()))
