"""Sequential neural likelihood: propose, simulate, learn, sample, repeat.

One function serves T-SNL and SNL, which differ in how a series becomes the rows of a kernel.
"""

import time
import warnings
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from tsnl.density import Family, Kernel, Scaling, Transform, fit_scaling
from tsnl.likelihood.surrogate import SurrogateLikelihood
from tsnl.posterior import Posterior, sample_posterior
from tsnl.problem import Problem
from tsnl.progress import Progress
from tsnl.sampling import MCMC, Draws
from tsnl.sampling.spread import spread
from tsnl.simulation import simulate
from tsnl.training import Fit, Training, train
from tsnl.windows import Past, Windows, split

Strategy = Literal["all", "last", "best"]
CANDIDATES = 50  # prior draws for each one that is simulated: the even cover is picked from them
CONVERGED = 0.15  # shift of mean and of log sd, in posterior sds, below which a round was idle


@dataclass(frozen=True)
class Plan:
    """What a sequential method is to do, after its options were checked and its lag chosen."""

    rounds: int
    simulations: int
    past: Past
    family: Family
    training: Training
    sampler: MCMC
    strategy: Strategy
    transform: Transform
    dequantise: bool
    stop: Literal["never", "converged"]


@dataclass
class Simulated:
    """All simulations of a run, in arrays of their final size, NaN where there is none yet."""

    z: Float[np.ndarray, "capacity size"]
    series: Float[np.ndarray, "capacity T d_y"]
    round_: np.ndarray
    count: int = 0
    cost: int = 0

    @staticmethod
    def none(problem: Problem, capacity: int) -> "Simulated":
        """Empty arrays: fixed shapes, so that what uses them is compiled once."""
        z = np.zeros((capacity, problem.prior.size))
        series = np.full((capacity, *problem.series.shape), np.nan)
        return Simulated(z, series, np.full(capacity, -1))

    def add(self, z: np.ndarray, series: np.ndarray, cost: int, round_: int) -> None:
        """Append a batch; a series is cut at its first value that is not finite."""
        alive = np.logical_and.accumulate(np.isfinite(series).all(axis=2), axis=1)
        part = slice(self.count, self.count + len(z))
        self.z[part], self.round_[part] = z, round_
        self.series[part] = np.where(alive[:, :, None], series, np.nan)
        self.count += len(z)
        self.cost += cost

    @property
    def num_failed(self) -> int:
        """Series that did not reach their end."""
        return int(np.isnan(self.series[: self.count, -1, 0]).sum())


@dataclass(frozen=True)
class Outcome:
    """What the rounds led to."""

    posterior: Posterior
    draws: Draws
    simulated: Simulated
    history: list[dict[str, Any]] = field(default_factory=list)
    status: str = ""


def run_rounds(key: Key[Array, ""], problem: Problem, plan: Plan, progress: Progress) -> Outcome:
    """Algorithm 1: propose, simulate, learn the kernel, sample, repeat."""
    simulated = Simulated.none(problem, plan.rounds * plan.simulations)
    key_simulate, key_rounds = jax.random.split(key)
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key_rounds)))
    scaling, draws = None, None
    history: list[dict[str, Any]] = []
    status = f"finished: all {plan.rounds} rounds run"
    progress.start(plan.rounds)
    for round_ in range(plan.rounds):
        clock = [time.perf_counter()]
        keys = jax.random.split(jax.random.fold_in(key_rounds, round_), 3)
        progress.phase(round_, "simulate")
        z = propose(keys[0], rng, problem, draws, plan.simulations)
        add_simulations(key_simulate, problem, simulated, z, round_)
        if scaling is None:
            scaling = fit_scaling(simulated.series, simulated.z[: simulated.count], plan.transform)
            warn_if_far(problem.series, simulated.series[: simulated.count])
        clock.append(time.perf_counter())

        progress.phase(round_, "train")
        chosen = choose(plan, simulated, problem.series)
        kernel, fit = learn(keys[1], rng, simulated, chosen, scaling, plan)
        clock.append(time.perf_counter())

        progress.phase(round_, "sample")
        posterior = Posterior(
            problem.prior, SurrogateLikelihood.of(kernel, jnp.asarray(problem.series))
        )
        last = round_ == plan.rounds - 1
        new = sample_posterior(keys[2], posterior, simulated.z[: simulated.count], plan.sampler)
        clock.append(time.perf_counter())

        history.append(record(simulated, fit, new, draws, clock))
        progress.round_done(round_, history[-1])
        draws = new
        if plan.stop == "converged" and not last and history[-1]["shift"] < CONVERGED:
            status = (
                f"converged after round {round_ + 1} of {plan.rounds}: it moved the posterior by "
                f"{history[-1]['shift']:.2f} sd"
            )
            break
    if not draws.healthy:
        status += (
            f"; the chains need a look: R-hat {draws.r_hat:.3f}, effective size {draws.effective:.0f}"
        )
    return Outcome(posterior, draws, simulated, history, status)


def propose(
    key: Key[Array, ""], rng: np.random.Generator, problem: Problem, draws: Draws | None, n: int
) -> Float[np.ndarray, "n size"]:
    """Parameters to simulate: from the prior at first, from the last posterior after, evenly spread."""
    if draws is None:
        theta = problem.prior.sample(key, CANDIDATES * n)
        cloud = np.asarray(jax.vmap(problem.prior.unconstrain)(theta))
    else:
        cloud = draws.z.reshape(-1, draws.z.shape[-1])
    return spread(rng, cloud, n)


def add_simulations(
    key: Key[Array, ""], problem: Problem, simulated: Simulated, z: np.ndarray, round_: int
) -> None:
    """Simulate at z and keep what came of it."""
    theta = jax.vmap(problem.prior.constrain)(jnp.asarray(z))
    batch = simulate(key, problem.model, theta, problem.length, first=simulated.count)
    simulated.add(z, batch.series, batch.cost, round_)


def choose(plan: Plan, simulated: Simulated, observed: np.ndarray) -> Bool[np.ndarray, " capacity"]:
    """Which series to learn from, by strategy."""
    there = np.isfinite(simulated.series[:, 0, 0])
    if plan.strategy == "last":
        return there & (simulated.round_ == simulated.round_.max())
    if plan.strategy == "best":
        distance = np.sqrt(((simulated.series - observed) ** 2).sum(axis=(1, 2)))
        distance = np.where(np.isnan(distance), np.inf, distance)
        order = np.argsort(np.where(there, distance, np.inf), kind="stable")
        best = np.zeros_like(there)
        best[order[: plan.simulations]] = True
        return there & best
    return there


def learn(
    key: Key[Array, ""],
    rng: np.random.Generator,
    simulated: Simulated,
    chosen: Bool[np.ndarray, " capacity"],
    scaling: Scaling,
    plan: Plan,
) -> tuple[Kernel, Fit]:
    """Fit a fresh kernel to the chosen series, in units of where the chosen parameters are."""
    z = simulated.z[chosen]
    scaling = replace(
        scaling,
        z_mean=jnp.asarray(z.mean(axis=0), dtype=float),
        z_scale=jnp.asarray(z.std(axis=0) + 1e-3, dtype=float),
    )
    keys = jax.random.split(key, 3)
    series = jnp.asarray(simulated.series)
    if plan.dequantise:
        series = series + jax.random.uniform(keys[0], series.shape, minval=-0.5, maxval=0.5)
    windows, theta = _prepare(series, jnp.asarray(simulated.z), scaling, plan.past)
    targets = np.isfinite(simulated.series).all(axis=2) & chosen[:, None]
    options = plan.training
    use, held = split(rng, targets, options.num_members, options.held_out, plan.past.lag)
    members = plan.family.start(
        keys[1], options.num_members, windows, theta, jnp.asarray(use), plan.past
    )
    members, fit = train(keys[2], members, windows, theta, use, held, options)
    return Kernel(members, scaling, plan.past), fit


@eqx.filter_jit
def _prepare(
    series: Float[Array, "N T d_y"], z: Float[Array, "N size"], scaling: Scaling, past: Past
) -> tuple[Windows, Float[Array, "N size"]]:
    seen = jnp.isfinite(series)
    y = scaling.standardise(jnp.where(seen, series, 0.0))
    return Windows.of(y, seen, past), scaling.standardise_z(z)


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


def warn_if_far(observed: np.ndarray, series: np.ndarray) -> None:
    """Warn where much of the observed series lies beyond everything that the prior produced."""
    low, high = np.nanmin(series, axis=(0, 1)), np.nanmax(series, axis=(0, 1))
    outside = float(((observed < low) | (observed > high)).any(axis=1).mean())
    if outside > 0.2:
        warnings.warn(
            f"{outside:.0%} of the observed rows lie outside the range of all {len(series)} prior "
            f"simulations ({low.round(3).tolist()} to {high.round(3).tolist()}): the prior or the model "
            f"may not be able to produce these data. Widen the prior or check the units.",
            stacklevel=2,
        )
