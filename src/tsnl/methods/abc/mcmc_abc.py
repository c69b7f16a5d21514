"""Markov chain Monte Carlo ABC: chains side by side, one batch of simulations for each step."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.methods.abc.distance import Distance, check_distance
from tsnl.methods.abc.tolerance import DISTANCE_WEIGHTS, DistanceWeight, tighten
from tsnl.methods.abc.trials import Trials, collapsed, expect, whole
from tsnl.methods.abc.walk import Walk
from tsnl.methods.api import Method, Outcome
from tsnl.problem import Problem
from tsnl.runtime.checked import check_fields
from tsnl.runtime.progress import Progress
from tsnl.sampling import diagnostics
from tsnl.store.registry import register

NUM_BLOCKS = 8  # of the warm-up: the proposal is learned anew after each
MAX_R_HAT = 1.05


@register
@dataclass(frozen=True)
class MCMCABC(Method):
    r"""Random walks that move only where a simulated series is close to the observed one.

    A step from z to z' is accepted with probability
    \(\min(1, p(z') K(d') / p(z) K(d))\), where d is the distance of the series simulated at z. A step
    that the prior alone turns down is not simulated. The chains start at the closest of some prior
    simulations, the pilot, which also give the tolerance where none is given. During the warm-up the
    proposal's covariance is learned from all chains; its scale is not steered by the acceptance rate,
    which a small tolerance lowers at any scale.

    Attributes:
        num_chains: chains side by side; multiples of 64 make full use of a batch.
        num_warmup: steps of warm-up for each chain.
        num_draws: kept draws of each chain.
        tolerance: the largest distance that is accepted, or the width of a Gaussian weight; None for
            the one that accepts `pilot_share` of the pilot.
        pilot: prior simulations before the first step.
        pilot_share: share of them within the tolerance, where none is given.
        distance_weight: "uniform", K(d) = 1 where d is within the tolerance and 0 elsewhere; or
            "gaussian", K(d) = exp(-d^2 / 2 tolerance^2).
        distance: "euclidean", "standardised", or a function (simulated, observed) -> float.
        summary_fn: from a series (T, d_y) to the array that is compared; the series itself where None.
        max_cost: calls of the dynamics that it may use in all; at most a quarter goes to the pilot and
            a quarter to the warm-up.
        min_acceptance: acceptance rate below which it stops.
    """

    num_chains: int = 64
    num_warmup: int = 200
    num_draws: int = 1000
    tolerance: int | float | None = None
    pilot: int = 6400
    pilot_share: int | float = 0.02
    distance_weight: DistanceWeight = "uniform"
    distance: Distance = "euclidean"
    summary_fn: Callable[..., Any] | None = None
    max_cost: int | None = None
    min_acceptance: int | float = 0.001

    def __post_init__(self) -> None:
        check_distance(self.distance, self.summary_fn)
        expect(self, "num_chains", "a whole number from 2 on", lambda n: whole(n, 2))
        expect(self, "num_warmup", "a whole number from 10 on", lambda n: whole(n, 10))
        expect(self, "num_draws", "a whole number from 10 on", lambda n: whole(n, 10))
        expect(self, "tolerance", "None or above 0", lambda x: x is None or x > 0)
        expect(self, "pilot", "a whole number from num_chains on", lambda n: whole(n, self.num_chains))
        expect(self, "pilot_share", "above 0 and at most 1", lambda x: 0 < x <= 1)
        names = DISTANCE_WEIGHTS
        expect(self, "distance_weight", f"one of {names}", lambda name: name in names)
        expect(self, "max_cost", "None or a whole number from 1 on", lambda n: n is None or whole(n, 1))
        expect(self, "min_acceptance", "at least 0 and below 1", lambda x: 0 <= x < 1)
        check_fields(self)

    def run(self, key: Key[Array, ""], problem: Problem, progress: Progress) -> Outcome:
        """Infer; see `tsnl.infer`."""
        key_trials, key_rng = jax.random.split(key)
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key_rng)))
        trials = Trials.of(key_trials, problem, self.distance, self.summary_fn, self.max_cost)
        num_pilot, num_warmup = self._phases(problem.length)
        progress.start("MCMC-ABC", num_warmup + self.num_draws)
        notes = _Notes(trials, progress)
        walk = self._start(rng, trials, num_pilot)
        within = float((~walk.outside()).mean())
        notes.record("pilot", walk.tolerance, within)
        for step in range(num_warmup):
            if step % 10 == 0:
                notes.report_progress(step, "warm-up")
            walk.step(settled=False)
            if (step + 1) % max(num_warmup // NUM_BLOCKS, 1) == 0:
                walk.learn()
        rate, moved = walk.rate, walk.settle()
        notes.record("warm-up", walk.tolerance, rate, moved=moved)
        z, distances, why = self._draw(walk, notes, num_warmup)
        r_hat, ess = float(diagnostics.r_hat(z).max()), float(diagnostics.ess(z).min())
        notes.record("draws", walk.tolerance, walk.rate, r_hat=r_hat, ess=ess)
        status = f"{why}; tolerance {walk.tolerance:.4g}; cost {trials.cost:,}"
        if not r_hat <= MAX_R_HAT:
            status += diagnostics.health_note(r_hat, ess)
        progress.now(num_warmup + self.num_draws, status)
        nothing = np.full(distances.shape, np.nan)
        arrays = {"distances": distances, **trials.log.arrays()}
        return Outcome(z, nothing, trials.cost, status, notes.history, arrays=arrays)

    def _phases(self, length: int) -> tuple[int, int]:
        """Pilot simulations and warm-up steps, cut down to what a budget allows."""
        if self.max_cost is None:
            return self.pilot, self.num_warmup
        quarter = self.max_cost // length // 4
        if quarter < self.num_chains:
            raise ValueError(
                f"max_cost is {self.max_cost}, expected at least {4 * self.num_chains * length} for "
                f"{self.num_chains} chains and series of length {length}: raise it, or lower num_chains."
            )
        return min(self.pilot, quarter), min(self.num_warmup, quarter // self.num_chains)

    def _start(self, rng: np.random.Generator, trials: Trials, num_pilot: int) -> Walk:
        """Chains at the closest series of the pilot."""
        z = trials.draw_prior(num_pilot)
        distances = trials.fit(z)
        finite = np.isfinite(distances)
        if finite.sum() < self.num_chains:
            raise ValueError(
                f"Only {int(finite.sum())} of {num_pilot} pilot simulations have a finite distance, "
                f"expected at least {self.num_chains}, one for each chain: check the simulator."
            )
        tolerance = self.tolerance
        if tolerance is None:
            share = min(self.pilot_share * num_pilot / finite.sum(), 1.0)
            near = distances[finite]
            tolerance = tighten(near, np.ones(len(near)), np.inf, share, self.distance_weight)
        best = np.argsort(distances, kind="stable")[: self.num_chains]
        start = z[best]
        return Walk(rng, trials, self.distance_weight, float(tolerance), start, distances[best])

    def _draw(
        self, walk: Walk, notes: "_Notes", num_warmup: int
    ) -> tuple[Float[np.ndarray, "chain draw size"], Float[np.ndarray, "chain draw"], str]:
        """Draws of all chains, as many as asked for unless a limit is reached."""
        z, distances = [], []
        why = f"finished: {self.num_chains} chains of {self.num_draws} draws"
        for step in range(self.num_draws):
            if walk.trials.affordable(self.num_chains) < self.num_chains:
                why = f"stopped after {step} draws of each chain: max_cost {self.max_cost:,} is used up"
                break
            if collapsed(walk.accepted, walk.tried, self.min_acceptance):
                why = f"stopped after {step} draws of each chain: the acceptance rate {walk.rate:.2g} "
                why += f"is below min_acceptance {self.min_acceptance:.2g}"
                break
            if step % 10 == 0:
                notes.report_progress(num_warmup + step, f"draws, acceptance {walk.rate:.3f}")
            walk.step(settled=True)
            z.append(walk.z)
            distances.append(walk.distances)
        return np.stack(z, axis=1), np.stack(distances, axis=1), why


@dataclass
class _Notes:
    """Keeps a record of each phase, and reports how far the run is."""

    trials: Trials
    progress: Progress
    history: list[dict[str, Any]] = field(default_factory=list)
    clock: float = field(default_factory=time.perf_counter)
    count: int = 0
    failed: int = 0

    def report_progress(self, done: int, text: str) -> None:
        """So many steps are done."""
        self.progress.now(done, f"{text}, cost {self.trials.cost:,}")

    def record(self, phase: str, tolerance: float, acceptance: float, **more: Any) -> None:
        """A phase is over; simulations, failures and seconds are its own, cost is the run's so far."""
        now = time.perf_counter()
        self.history.append(
            {
                "phase": phase,
                "tolerance": tolerance,
                "acceptance": acceptance,
                "simulations": self.trials.count - self.count,
                "failed": self.trials.failed - self.failed,
                "cost": self.trials.cost,
                "seconds": now - self.clock,
                **more,
            }
        )
        self.clock, self.count, self.failed = now, self.trials.count, self.trials.failed
