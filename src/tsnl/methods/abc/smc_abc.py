"""Sequential Monte Carlo approximate Bayesian computation with an adaptive tolerance."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import jax
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.methods.abc.distance import Distance, check_distance
from tsnl.methods.abc.generation import Filling, Generation, first_generation, next_generation
from tsnl.methods.abc.tolerance import DISTANCE_WEIGHTS, DistanceWeight, fit_ratio, tighten
from tsnl.methods.abc.trials import Trials, expect, whole
from tsnl.methods.api import Method, Outcome
from tsnl.problem import Problem
from tsnl.runtime.checked import check_fields
from tsnl.runtime.progress import Progress
from tsnl.store.registry import register

CONVERGED = 0.99  # quantile above which a further generation would change next to nothing
LEAST = 3  # generations before that is believed
STRIDE = 0.75  # quantile for the next generation where it goes on although the last changed nothing
RESAMPLE = 0.5  # effective share of the particles below which they are resampled
MANY = 1000  # particles where no number and no budget is given


@register
@dataclass(frozen=True)
class SMCABC(Method):
    r"""Keep parameters whose simulated series are close to the observed one; then demand closer ones.

    The first generation is the closest share of prior simulations. Each further one perturbs particles
    of the one before by a Gaussian of twice their weighted covariance, accepts those whose series come
    within the tolerance, and weighs them by \(p(z) / \sum_j w_j N(z; z_j, 2 \Sigma)\). The tolerance
    is the 1/c quantile of the last accepted distances, where c is the largest ratio of the last two
    generations' densities (see `tsnl.methods.abc.tolerance`).

    Attributes:
        particles: of each generation; None for 1000, or with a budget a twentieth of the series that
            it allows, between 100 and 1000.
        distance: "euclidean", "standardised", or a function (simulated, observed) -> float.
        summary_fn: from a series (T, d_y) to the array that is compared; the series itself where None.
        distance_weight: "uniform" accepts every series within the tolerance; "gaussian" accepts with the
            probability exp(-d^2 / 2 tolerance^2).
        first_share: share of the prior simulations that makes the first generation.
        max_generations: where to stop at the latest.
        max_cost: calls of the dynamics that it may use in all.
        min_acceptance: acceptance rate below which it stops.
        min_tolerance: tolerance at which it stops.
        stop: "converged" stops when a generation did not change the posterior; "never" goes on to
            one of the limits, as for a comparison at equal cost.
    """

    particles: int | None = None
    distance: Distance = "euclidean"
    summary_fn: Callable[..., Any] | None = None
    distance_weight: DistanceWeight = "uniform"
    first_share: int | float = 0.2
    max_generations: int = 30
    max_cost: int | None = None
    min_acceptance: int | float = 0.002
    min_tolerance: int | float = 0.0
    stop: Literal["converged", "never"] = "converged"

    def __post_init__(self) -> None:
        check_distance(self.distance, self.summary_fn)
        expect(
            self, "particles", "None or a whole number from 10 on", lambda n: n is None or whole(n, 10)
        )
        names = DISTANCE_WEIGHTS
        expect(self, "distance_weight", f"one of {names}", lambda name: name in names)
        expect(self, "first_share", "above 0 and at most 1", lambda x: 0 < x <= 1)
        expect(self, "max_generations", "a whole number from 1 on", lambda n: whole(n, 1))
        expect(self, "max_cost", "None or a whole number from 1 on", lambda n: n is None or whole(n, 1))
        expect(self, "min_acceptance", "at least 0 and below 1", lambda x: 0 <= x < 1)
        expect(self, "min_tolerance", "at least 0", lambda x: x >= 0)
        expect(self, "stop", "'converged' or 'never'", lambda name: name in ("converged", "never"))
        check_fields(self)

    def num_particles(self, length: int) -> int:
        """Particles of a generation, for series of a length."""
        if self.particles is not None:
            return self.particles
        return MANY if self.max_cost is None else int(np.clip(self.max_cost / length / 20, 100, MANY))

    def run(self, key: Key[Array, ""], problem: Problem, progress: Progress) -> Outcome:
        """Infer; see `tsnl.infer`."""
        key_trials, key_rng = jax.random.split(key)
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key_rng)))
        trials = Trials.of(key_trials, problem, self.distance, self.summary_fn, self.max_cost)
        progress.start("SMC-ABC", self.max_generations)
        generations, history, why = self._generations(rng, trials, progress)
        wanted = self.num_particles(problem.length)
        used = len(generations) - 1
        if generations[used].end and generations[used].ess < RESAMPLE * wanted:
            used -= 1
        status = f"{why}; the draws are of generation {used}, tolerance "
        status += f"{generations[used].tolerance:.4g}; cost {trials.cost:,}"
        draws = generations[used].resampled(rng, max(len(generations[used].z), 1))
        progress.now(self.max_generations, status)
        arrays: dict[str, np.ndarray] = {}
        for i, generation in enumerate(generations):
            for name in ("z", "weights", "distances"):
                arrays[f"generation{i}.{name}"] = getattr(generation, name)
        z = rng.permutation(draws.z)[None]  # copies apart: their order says nothing
        nothing = np.full(z.shape[:2], np.nan)
        return Outcome(z, nothing, trials.cost, status, history, arrays=arrays | trials.log.arrays())

    def _generations(
        self, rng: np.random.Generator, trials: Trials, progress: Progress
    ) -> tuple[list[Generation], list[dict[str, Any]], str]:
        """All generations, a record of each, and why there is no further one."""
        n = self.num_particles(trials.problem.length)
        filling = Filling(n, self.distance_weight, self.min_acceptance)
        clock, failed = time.perf_counter(), 0
        progress.now(0, "generation 0: prior simulations")
        new, prior = first_generation(rng, trials, n, self.first_share, self.distance_weight)
        old_z, old_weights = prior, np.full(len(prior), 1 / len(prior))
        generations: list[Generation] = []
        history: list[dict[str, Any]] = []
        while True:
            c = largest_ratio(new, old_z, old_weights)
            seconds, now = time.perf_counter() - clock, time.perf_counter()
            generations.append(new)
            history.append(record(new, c, trials, trials.failed - failed, seconds))
            clock, failed = now, trials.failed
            why, tolerance = self._decide(generations, history, trials)
            if why:
                return generations, history, why
            last = new.resampled(rng, len(new.z)) if history[-1]["resampled"] else new
            report = _reporter(progress, len(generations), n, tolerance, trials)
            new = next_generation(rng, trials, last, tolerance, filling, report)
            old_z, old_weights = last.z, last.weights

    def _decide(
        self, generations: list[Generation], history: list[dict[str, Any]], trials: Trials
    ) -> tuple[str, float]:
        """Why to stop, "" to go on; and the next tolerance."""
        new, count, quantile = generations[-1], len(generations), history[-1]["quantile"]
        name = f"generation {count - 1}"
        if new.end == "budget" or trials.affordable(1) < 1:
            return f"stopped in {name}: max_cost {self.max_cost:,} is used up", 0.0
        if new.end == "acceptance":
            return (
                f"stopped in {name}: its acceptance rate {new.rate:.2g} is below min_acceptance "
                f"{self.min_acceptance:.2g} at tolerance {new.tolerance:.4g}",
                0.0,
            )
        if self.stop == "converged" and count >= LEAST and quantile > CONVERGED:
            return f"converged in {name}: the next quantile would be {quantile:.3f}", 0.0
        if new.tolerance <= self.min_tolerance:
            return f"stopped in {name}: its tolerance reached min_tolerance {self.min_tolerance}", 0.0
        if count == self.max_generations:
            return f"finished: all {count} generations run", 0.0
        share = quantile if quantile <= CONVERGED else STRIDE
        tolerance = tighten(new.distances, new.weights, new.tolerance, share, self.distance_weight)
        tolerance = max(tolerance, float(self.min_tolerance))
        if tolerance >= new.tolerance:
            return f"stopped in {name}: no smaller tolerance among its distances", 0.0
        return "", tolerance


def largest_ratio(
    new: Generation, old_z: Float[np.ndarray, "k size"], old_weights: Float[np.ndarray, " k"]
) -> float:
    """How much higher than before the density is where it rose most; NaN of too few particles."""
    if len(new.z) < 2 * old_z.shape[1] + 2 or new.end:
        return float("nan")
    ratio = fit_ratio(new.z, new.weights, old_z, old_weights)
    return max(ratio.supremum(np.concatenate([old_z, new.z])), 1.0)


def record(new: Generation, c: float, trials: Trials, failed: int, seconds: float) -> dict[str, Any]:
    """One generation in figures, ready for JSON; cost is that of the run so far."""
    return {
        "tolerance": new.tolerance,
        "particles": len(new.z),
        "complete": not new.end,
        "acceptance": new.rate,
        "ess": new.ess,
        "resampled": bool(new.ess < RESAMPLE * len(new.z)),
        "c": c,
        "quantile": 1 / c,
        "simulations": new.tried,
        "failed": failed,
        "cost": trials.cost,
        "seconds": seconds,
    }


def _reporter(
    progress: Progress, index: int, wanted: int, tolerance: float, trials: Trials
) -> Callable[[int], None]:
    def report_progress(accepted: int) -> None:
        text = f"generation {index} tolerance {tolerance:.4g} cost {trials.cost:,}"
        progress.now(index + accepted / wanted, text)

    return report_progress
