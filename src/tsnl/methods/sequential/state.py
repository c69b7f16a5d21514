"""What rounds have come to, in one frozen state, and one round in figures."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import jax
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.kernel import Kernel, KernelSpec
from tsnl.kernel.ensemble import Fit
from tsnl.kernel.lag import LagChoice
from tsnl.kernel.stacked import parts_of
from tsnl.likelihood.correction import Correction
from tsnl.methods.sequential.options import Sequential
from tsnl.methods.sequential.simulated import Simulated, simulate_at, take_table
from tsnl.posterior import Posterior
from tsnl.problem import Problem
from tsnl.sampling import MCMC, Draws
from tsnl.simulation import Table

Record: TypeAlias = dict[str, Any]  # ready for JSON
PHASES = ("simulate", "train", "sample")
UNSETTLED = 1.0  # posterior sds that a last round should not move it by
DOUBTED = 0.25  # power of the likelihood below which held-out series do not trust it


class Form(NamedTuple):
    """What is decided on early simulations, and stays.

    Attributes:
        spec: what kernel.
        lag: its lag.
        transforms: of each column of y.
        why: each of them; empty where they are of an earlier run.
    """

    spec: KernelSpec
    lag: LagChoice
    transforms: tuple[str, ...]
    why: tuple[str, ...] = ()

    def record(self) -> Record:
        """The transforms and their reasons, ready for JSON; nothing where there are no reasons."""
        pairs = zip(self.transforms, self.why, strict=False)
        return {"transforms": [list(pair) for pair in pairs]} if self.why else {}


@dataclass(frozen=True)
class RoundState:
    """After some rounds.

    Attributes:
        simulated: all simulations.
        z: unconstrained draws of the posterior as it is, None before the first.
        form: what kernel is learned; None before the first simulations.
        kernel: as it was last learned.
        draws: the last ones, and how they came about.
        history: a record of each round.
        number: rounds of this run.
        correction: of the learned likelihood, by a filter that knows the states; after the last round.
    """

    simulated: Simulated
    z: Float[np.ndarray, "chain draw size"] | None = None
    form: Form | None = None
    kernel: Kernel | None = None
    draws: Draws | None = None
    history: tuple[Record, ...] = ()
    number: int = 0
    correction: Correction | None = None

    @staticmethod
    def start(problem: Problem, options: Sequential) -> "RoundState":
        """Before the first round."""
        return RoundState(Simulated.none(problem, sum(options.sizes), options.num_views(problem)))

    def posterior(self, problem: Problem) -> Posterior:
        """What the kernel says of the observed series."""
        assert self.kernel is not None
        completion = self.simulated.completion()
        learned = (self.kernel, problem.panel, problem.inputs, completion)
        found = Posterior.learned(problem.prior, *learned).corrected(self.correction)
        return replace(found, z=self.z)

    def saved(self) -> "SavedRound":
        """The last round, to be kept."""
        assert self.kernel is not None
        assert self.draws is not None
        assert self.form is not None
        proposed = self.simulated.z[self.simulated.round_ == self.simulated.round_.max()]
        return SavedRound(self.kernel, self.draws, self.history[-1], self.form.lag, proposed)

    def after(
        self, simulated: Simulated, form: Form, kernel: Kernel, draws: Draws, record: Record
    ) -> "RoundState":
        """With one more round."""
        history, number = (*self.history, record), self.number + 1
        return RoundState(simulated, draws.z, form, kernel, draws, history, number)


class SavedRound(NamedTuple):
    """What a round leaves that cannot be had again without computing.

    Attributes:
        kernel, draws: what was learned, and sampled.
        record: the round in figures.
        lag: the lag and why.
        proposed: where the round simulated; the series are in the store by themselves.
    """

    kernel: Kernel
    draws: Draws
    record: Record
    lag: LagChoice
    proposed: Float[np.ndarray, "n size"]


@runtime_checkable
class RoundStore(Protocol):
    """Where finished rounds are kept, so that a run that was cut off need not run them again."""

    def keep_round(self, number: int, finished: SavedRound) -> None:
        """Keep a round; `number` counts from 1."""
        ...

    def rounds(self) -> Iterator[SavedRound]:
        """The rounds that are finished, in order."""
        ...


def draft_sampler(sampler: MCMC, num_proposals: int) -> MCMC:
    """Enough draws to propose so many from: a look at where the posterior is, not yet the answer."""
    wanted = max(50, -(-2 * num_proposals // sampler.num_chains))
    return replace(
        sampler,
        num_warmup=min(sampler.num_warmup, 100),
        num_draws=min(sampler.num_draws, wanted),
        max_r_hat=max(sampler.max_r_hat, 1.2),
        min_ess=min(sampler.min_ess, 40),
        target_ess=None,
    )


def record(
    simulated: Simulated, fit: Fit, new: Draws, old: np.ndarray | None, clock: list[float]
) -> Record:
    """One round in figures, ready for JSON."""
    return {
        "simulations": simulated.count,
        "failed": simulated.num_failed,
        "cost": simulated.cost,
        "loss": fit.held_out_loss,
        "losses": np.nanmean(fit.history[np.isfinite(fit.history).any(axis=1)], axis=1).tolist(),
        "steps": fit.num_steps,
        "retries": fit.num_retries,
        "left_out": fit.num_left_out,
        "weights": list(fit.weights),
        **new.record(),
        "shift": float("nan") if old is None else shift(old, new.z),
        "seconds": dict(zip(PHASES, np.diff(clock).tolist(), strict=True)),
    }


def shift(old: np.ndarray, new: np.ndarray) -> float:
    """How far the posterior moved: the larger of the change in mean and in log sd, in sds of the new."""
    old, new = old.reshape(-1, old.shape[-1]), new.reshape(-1, new.shape[-1])
    sd = new.std(axis=0)
    mean = np.abs(new.mean(axis=0) - old.mean(axis=0)) / sd
    return float(max(mean.max(), np.abs(np.log(sd / old.std(axis=0))).max()))


def training_note(record: Record) -> str:
    """What a status adds where training diverged and was mended."""
    note = ""
    if record["retries"]:
        note += "; training of the last kernel diverged and was started again with smaller steps"
    if record["left_out"]:
        note += f"; {record['left_out']} of its members diverged all the same and were left out"
    return note


def mended_note(record: Record) -> str:
    """What a status adds of the filter with learned dynamics, where it had the last word or failed."""
    facts = record.get("states", {})
    if "error" in facts:
        return (
            f"; the law of the states could not be learned ({facts['error']}): the kernel of rows stands"
        )
    if "moved" in facts:
        return f"; a filter with learned dynamics moved the posterior by {facts['moved']:.2f} sd"
    return ""


def unsettled_note(record: Record) -> str:
    """What a status adds where the last round says that it should not have been the last."""
    note = ""
    if record["shift"] > UNSETTLED:
        note += f"; the last round moved the posterior by {record['shift']:.1f} sd: it has not settled"
    if record["trusted"] < DOUBTED:
        note += (
            f"; series held out put the learned likelihood to the power {record['trusted']:.2g}: "
            f"it is far too sure of itself"
        )
    return f"{note}, simulate more" if note else ""


def restore(
    key: Key[Array, ""], problem: Problem, options: Sequential, store: RoundStore | None
) -> RoundState:
    """The state after the rounds that a store has kept; simulations are read from it, not made anew."""
    state = RoundState.start(problem, options)
    key_simulate = jax.random.split(key, 3)[0]
    for saved in () if store is None else store.rounds():
        if isinstance(problem.model, Table):
            simulated = take_table(problem, state.simulated, problem.model)
        else:
            keep = options.keeps_states(problem)
            simulated = simulate_at(key_simulate, problem, state.simulated, saved.proposed, keep)
        form = Form(parts_of(saved.kernel.spec)[0], saved.lag, saved.kernel.scaling.names())
        state = state.after(simulated, form, saved.kernel, saved.draws, saved.record)
    return state
