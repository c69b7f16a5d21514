r"""The last step of a run whose model has states: a filter with a learned transition mends it.

Simulations give states as well as series. From them the law of the next state is learned, which is
simpler than that of the next row given all rows before it. With the law of a row given its state, the
model's own or learned too, a particle filter gives the likelihood (see
`tsnl.likelihood.learned_filter`). It calls no dynamics. Where it makes series near the posterior more
probable than the kernel of rows does, its difference from that kernel is learned over the posterior (see
`tsnl.likelihood.correction`), and theta is sampled anew.
"""

import time
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.likelihood.correction import Correction, fit_correction
from tsnl.likelihood.learned_filter import LearnedFilter
from tsnl.likelihood.surrogate import SurrogateLikelihood
from tsnl.methods.sequential.filtering import (
    MOST_STAGES,
    STAGES,
    Looks,
    Runner,
    with_particles,
)
from tsnl.methods.sequential.judge import judge
from tsnl.methods.sequential.observation import observation_of
from tsnl.methods.sequential.options import Sequential
from tsnl.methods.sequential.simulated import propose
from tsnl.methods.sequential.state import RoundState, draft_sampler, shift
from tsnl.methods.sequential.transition import learn_transition
from tsnl.models.base import StateSpaceModel
from tsnl.posterior import sample_posterior
from tsnl.problem import Problem
from tsnl.sampling import Draws
from tsnl.sampling.defensive import values

LOWEST = 100.0  # nats below the best, where a value counts no less
WIDEN = 1.6  # how much wider than the posterior to run the filter
CUT = 3.0  # nats that one series can say for or against
SLACK = 0.5  # nats that a kernel of few simulations, which has seen these series, may be ahead
DEPTH = 20.0  # nats below the best, from which on a point is not learned from
FALL = 6.0  # nats below the best, from which on a value counts less
DRAFT = 0.3  # share of the training steps where only the next round is proposed from it
OUTSIDE, MOVED = 0.03, 0.5  # share of draws where the filter has not been run, and sds that a last
# stage may move them by


@dataclass(frozen=True)
class Mended:
    """What came of it.

    Attributes:
        draws: of the corrected posterior.
        correction: of the learned likelihood; None where the kernel was as good by itself.
        record: in figures, ready for JSON.
    """

    draws: Draws
    correction: Correction | None
    record: dict[str, Any]


def mend(
    key: Key[Array, ""], problem: Problem, options: Sequential, state: RoundState, draft: bool = False
) -> Mended:
    """Learn the law of the states, and what it says beyond the kernel; roughly, where it is a draft."""
    assert state.draws is not None
    begin = time.perf_counter()
    facts: dict[str, Any] = {}
    found: tuple[Draws, Correction | None] = state.draws, None
    try:
        found = _mend(key, problem, options, state, facts, draft) or found
    except Exception as error:  # the run has its answer by the kernel of rows: nothing may take it away
        facts["error"] = f"{type(error).__name__}: {error}"
    facts["seconds"] = time.perf_counter() - begin
    return Mended(*found, facts)


def _mend(
    key: Key[Array, ""],
    problem: Problem,
    options: Sequential,
    state: RoundState,
    facts: dict[str, Any],
    draft: bool,
) -> tuple[Draws, Correction] | None:
    """New draws and what they come from; None where the kernel of rows is clearly better."""
    keys = jax.random.split(key, 3)
    effort = DRAFT if draft else 1.0
    law = learn_transition(keys[0], problem.prior.size, options.training, state.simulated, effort)
    model, kernel = problem.laws, state.kernel
    assert isinstance(model, StateSpaceModel)  # or no states would have been kept
    assert kernel is not None
    given = (kernel.spec, kernel.scaling.names(), options.training, state.simulated, law, effort)
    seen = observation_of(jax.random.fold_in(key, 1), model, *given)
    filter_ = LearnedFilter(model, problem.prior, law, seen, 0)
    runner = Runner.of(problem, filter_, state.simulated.count)
    gain = judge(keys[1], runner, problem, state)
    facts["gain"] = float(gain.clip(-CUT, CUT).mean())
    facts["transforms"] = list(law.kernel.scaling.names())
    if facts["gain"] <= -SLACK / runner.growth:
        return None
    draws, correction = correct(keys[2], runner, problem, options, state, facts, draft)
    if not np.isfinite(draws.z).all():
        raise FloatingPointError("Draws of the corrected posterior are not finite.")
    return draws, correction


def correct(
    key: Key[Array, ""],
    runner: Runner,
    problem: Problem,
    options: Sequential,
    state: RoundState,
    facts: dict[str, Any],
    draft: bool = False,
) -> tuple[Draws, Correction]:
    """The correction, learned where the posterior is and again where it moves, and new draws."""
    assert state.draws is not None
    base, draws = state.posterior(problem), state.draws
    assert isinstance(base.likelihood, SurrogateLikelihood)
    learned = replace(base.likelihood, completion=None)  # a filter's likelihood is of those that end too
    looks, correction, n = None, None, runner.num_points
    for stage in range(MOST_STAGES):
        keys = jax.random.split(jax.random.fold_in(key, stage), 4)
        if stage < 2:  # the first look may be far off
            runner, variance = with_particles(keys[3], runner, draws, stage)
        rng = np.random.default_rng(np.asarray(jax.random.key_data(keys[0])))
        new = propose(keys[0], rng, problem, draws.z, n, WIDEN)
        found = runner.look(keys[1], new, variance)
        looks = found if looks is None else looks.and_(found)
        flat = draws.z.reshape(-1, new.shape[1])
        centre, spread = flat.mean(axis=0), np.atleast_2d(np.cov(flat.T))
        correction = _learned(problem, learned, looks, centre, spread, MOST_STAGES * n)
        target = base.corrected(correction)
        points = np.concatenate([looks.z, flat[:: -(-len(flat) // 64)]])
        before = draws.z
        draws = sample_posterior(keys[2], target, points, draft_sampler(options.sampler, n), spread)
        outside, moved = correction.beyond(draws.z.reshape(-1, new.shape[1])), shift(before, draws.z)
        if stage + 1 >= STAGES - draft and outside <= OUTSIDE and moved <= MOVED:
            break
    if not draft:
        draws = sample_posterior(keys[2], target, points, options.answer_sampler, spread)
    assert correction is not None
    facts |= {"particles": runner.num_particles, "variance": variance, "stages": stage + 1}
    facts["outside"] = correction.beyond(draws.z.reshape(-1, new.shape[1]))
    return draws, correction


def _learned(
    problem: Problem,
    learned: SurrogateLikelihood,
    looks: Looks,
    centre: Float[np.ndarray, " size"],
    spread: Float[np.ndarray, "size size"],
    capacity: int,
) -> Correction:
    """The difference of the two log-likelihoods; hopeless points have no say."""
    height = looks.value + _log_prior(problem, looks.z)
    near = height >= min(_best(height) - DEPTH, np.sort(height)[-capacity // (2 * MOST_STAGES)])
    some = looks.at(near)
    found, sds = some.levelled((some.z - centre) @ np.linalg.inv(np.linalg.cholesky(spread)).T)
    gap = np.maximum(found, found.max() - LOWEST) - values(learned, some.z)
    noise = sds * _doubt(height)[near]
    return fit_correction(some.z, gap, noise, centre, spread, capacity)


def _best(log_posterior: Float[np.ndarray, " n"]) -> float:
    """The height of the posterior, not of its luckiest point."""
    return float(np.sort(log_posterior)[-max(1, len(log_posterior) // 10)])


def _doubt(log_posterior: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Factors of the noise: values far below the best are noisier, and matter less."""
    below = np.maximum(_best(log_posterior) - log_posterior, 0)
    return np.sqrt(1 + (below / FALL) ** 2)


def _log_prior(problem: Problem, z: Float[np.ndarray, "n size"]) -> Float[np.ndarray, " n"]:
    points = jnp.asarray(z, dtype=float)
    return np.asarray(jax.vmap(problem.prior.log_prob_unconstrained)(points), dtype=float)
