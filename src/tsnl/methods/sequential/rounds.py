"""Sequential neural likelihood: propose, simulate, learn, sample, repeat."""

import copy
import time
import warnings
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key

from tsnl.kernel import Kernel, KernelSpec, Mixture
from tsnl.kernel.ensemble import Fit
from tsnl.kernel.select import supported_power, trusted_power
from tsnl.kernel.stacked import parts_of
from tsnl.kernel.stacking import learn_stacked
from tsnl.methods.api import Outcome
from tsnl.methods.sequential.extremes import count_extreme, extreme_note
from tsnl.methods.sequential.finish import finish, is_before_last, knows_states
from tsnl.methods.sequential.form import decide_form
from tsnl.methods.sequential.options import Sequential
from tsnl.methods.sequential.simulated import (
    Simulated,
    choose,
    propose,
    simulate_at,
    take_table,
)
from tsnl.methods.sequential.state import (
    RoundState,
    RoundStore,
    draft_sampler,
    mended_note,
    record,
    restore,
    training_note,
    unsettled_note,
)
from tsnl.methods.sequential.units import fit_units
from tsnl.posterior import Posterior, sample_posterior
from tsnl.problem import Problem
from tsnl.runtime.progress import Progress
from tsnl.sampling.defensive import values
from tsnl.simulation import Table

CONVERGED = 0.15  # shift of mean and of log sd, in posterior sds, below which a round was idle
BENEFIT = 2.0  # powers of the likelihood over what far-off series trust it with, to propose from
DRAFT = 0.2  # share of the training steps in a round that is only proposed from


def run(
    key: Key[Array, ""],
    problem: Problem,
    options: Sequential,
    progress: Progress,
    state: RoundState | None = None,
) -> Outcome:
    """Algorithm 1, from a state, or from what the problem's store has kept of an earlier start."""
    store = problem.store if isinstance(problem.store, RoundStore) else None
    if state is None:
        state = restore(key, problem, options, store)
    progress.start(options.title, len(options.sizes))
    while not (status := why_stop(problem, options, state)):
        report_progress(progress, options, state)
        state = one_round(key, problem, options, state)
        if is_before_last(options, state) and knows_states(problem, options, state.simulated):
            state = finish(key, problem, options, state, draft=True)
        if store is not None:
            store.keep_round(state.number, state.saved())
    if knows_states(problem, options, state.simulated):
        progress.now(len(options.sizes), "filtering with learned dynamics")
        state = finish(key, problem, options, state)
        if state.correction is None:
            state = learn_alone(key, problem, options, state)
    progress.now(len(options.sizes), status)
    return outcome(problem, state, status)


def one_round(
    key: Key[Array, ""], problem: Problem, options: Sequential, state: RoundState
) -> RoundState:
    """One round: pure, but for the clock; the key is that of the whole run."""
    key_simulate, key_rounds, _ = jax.random.split(key, 3)
    keys = jax.random.split(jax.random.fold_in(key_rounds, state.number), 4)
    rng = np.random.default_rng(np.asarray(jax.random.key_data(keys[3])))
    clock = [time.perf_counter()]
    if isinstance(problem.model, Table):
        simulated = take_table(problem, state.simulated, problem.model)
    else:
        count = options.affordable(state.number, state.simulated.cost, problem.length)
        power = state.history[-1]["power"] if state.history else 1.0
        z = propose(keys[0], rng, problem, state.z, count, options.widen**power)
        keep = options.keeps_states(problem)
        simulated = simulate_at(key_simulate, problem, state.simulated, z, keep)
    return learn_from(key, problem, options, state, simulated, clock)


def learn_from(
    key: Key[Array, ""],
    problem: Problem,
    options: Sequential,
    state: RoundState,
    simulated: Simulated,
    clock: list[float],
    alone: bool = False,
) -> RoundState:
    """What a round makes of its simulations; alone, where the law of the states has no say."""
    _, key_rounds, key_lag = jax.random.split(key, 3)
    keys = jax.random.split(jax.random.fold_in(key_rounds, state.number), 4)
    rng = np.random.default_rng(np.asarray(jax.random.key_data(jax.random.fold_in(keys[3], 1))))
    clock.append(time.perf_counter())
    draft = is_draft(problem, options, simulated, state.number)
    chosen = choose(options.strategy, simulated, problem, options.sizes[state.number])
    form = decide_form(key_lag, problem, options, simulated, chosen, state)
    scaling = fit_units(form.spec, simulated, form.transforms)
    patterns = [np.isfinite(one) for one in problem.panel]
    effort = DRAFT if draft else 1.0
    given = (scaling, simulated.all, chosen, patterns, options.training, effort)
    before = copy.deepcopy(rng)
    hard = alone or is_hard(problem, options, simulated, draft)
    spec = options.with_networks(form.spec, simulated.count) if hard else form.spec
    kernel, fit = learn_robustly(keys[1], rng, spec, *given)
    seen = (simulated.all, chosen, options.training.held_out)
    trusted = 1.0 if form.spec.whole else trusted_power(keys[1], before, kernel, *seen)
    clock.append(time.perf_counter())

    learned = (kernel, problem.panel, problem.inputs, simulated.completion())
    posterior = Posterior.learned(problem.prior, *learned)
    supported = supported_power(values(posterior.likelihood, simulated.there.z))
    power = min(1.0, max(BENEFIT * trusted, supported))
    posterior = posterior.to_the_power(power if draft else 1.0)
    sampler = options.answer_sampler
    if draft:
        sampler = draft_sampler(options.sampler, options.sizes[state.number + 1])
    points, spread = where_to_start(simulated, state.z)
    draws = sample_posterior(keys[2], posterior, points, sampler, spread)
    clock.append(time.perf_counter())
    figures = record(simulated, fit, draws, state.z, clock) | {"power": power, "trusted": trusted}
    figures |= count_extreme(form.spec, scaling, simulated)
    figures |= {} if form is state.form else form.record()
    return state.after(simulated, form, kernel, draws, figures)


def is_draft(problem: Problem, options: Sequential, simulated: Simulated, number: int) -> bool:
    """Whether a round is only proposed from, so that its kernel may be rough.

    The last round gets all, and so does every round that decides whether there is another.
    """
    more = options.affordable(number + 1, simulated.cost, problem.length) > 0
    return more and options.stop == "never"


def is_hard(problem: Problem, options: Sequential, simulated: Simulated, draft: bool) -> bool:
    """Whether a round is to learn more than mixtures.

    Mixtures find the way to where the posterior is. Near it, from half of the simulations on, they may
    not do. Where the law of the states is learned, a filter has the last word.
    """
    late = not draft or 2 * simulated.count >= sum(options.sizes)
    return late and not knows_states(problem, options, simulated)


def learn_alone(
    key: Key[Array, ""], problem: Problem, options: Sequential, state: RoundState
) -> RoundState:
    """The last round's simulations again, where the law of the states was not to be trusted."""
    assert state.form is not None
    if options.with_networks(state.form.spec, state.simulated.count) == state.form.spec:
        return state
    last, before = state.history[-1], replace(state, number=state.number - 1, history=state.history[:-1])
    again = learn_from(key, problem, options, before, state.simulated, [time.perf_counter()], alone=True)
    kept = {name: last[name] for name in ("states", "shift")}
    return replace(again, history=(*before.history, again.history[-1] | kept))


def where_to_start(simulated: Simulated, z: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Points near the posterior, and its covariance where there are draws of the one before."""
    points = simulated.there.z
    if z is None:
        return points, None
    old = z.reshape(-1, points.shape[1])
    return np.concatenate([points, old[:: -(-len(old) // 64)]]), np.atleast_2d(np.cov(old.T))


def learn_robustly(
    key: Key[Array, ""], rng: np.random.Generator, spec: KernelSpec, *given: Any
) -> tuple[Kernel, Fit]:
    """A kernel; where training diverges, one with a simpler head and a warning."""
    try:
        return learn_stacked(key, rng, spec, *given)
    except FloatingPointError as error:
        warnings.warn(f"{error} A simpler head is used instead.", stacklevel=2)
        simple = replace(parts_of(spec)[0], head=Mixture(num_components=2, width=0))
        return learn_stacked(key, rng, simple, *given)


def why_stop(problem: Problem, options: Sequential, state: RoundState) -> str:
    """Why there is no further round, in plain words; empty where there is one."""
    if state.number == 0:
        return ""
    shift = state.history[-1]["shift"]
    if options.stop == "converged" and shift < CONVERGED:
        return (
            f"converged after round {state.number} of {len(options.sizes)}: it moved the posterior by "
            f"{shift:.2f} sd"
        )
    if isinstance(problem.model, Table):
        return f"finished: one round on a table of {options.simulations} simulations"
    if state.number >= len(options.sizes):
        return f"finished: all {len(options.sizes)} rounds run"
    if options.affordable(state.number, state.simulated.cost, problem.length) < 1:
        return f"stopped after round {state.number}: the budget of {options.max_cost:,} calls is used up"
    return ""


def outcome(problem: Problem, state: RoundState, status: str) -> Outcome:
    """The state as every method gives it back."""
    assert state.draws is not None  # there was a round
    assert state.form is not None
    last = state.history[-1]
    notes = state.draws.health_note + extreme_note(last) + training_note(last)
    notes += mended_note(last)
    notes += unsettled_note(last) if state.correction is None else ""
    return Outcome(
        z=state.draws.z,
        log_density=state.draws.log_density,
        cost=state.simulated.cost,
        status=status + notes,
        history=list(state.history),
        posterior=state.posterior(problem),
        lag=None if state.form.spec.whole else state.form.lag,
        arrays=state.simulated.arrays(),
    )


def report_progress(progress: Progress, options: Sequential, state: RoundState) -> None:
    """Say how far the rounds are, with the facts of the last one."""
    text = f"round {state.number + 1}/{len(options.sizes)}"
    if state.history:
        text += f" loss {state.history[-1]['loss']:.3f} cost {state.history[-1]['cost']:,}"
    progress.now(state.number, text)
