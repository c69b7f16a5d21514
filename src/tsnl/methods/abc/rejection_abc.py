"""Rejection ABC: simulate at prior draws, keep those whose series are close."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.methods.abc.distance import Distance, check_distance
from tsnl.methods.abc.trials import MAX_BATCH, Trials, collapsed, expect, round_up, whole
from tsnl.methods.api import Method, Outcome
from tsnl.problem import Problem
from tsnl.runtime.checked import check_fields
from tsnl.runtime.progress import Progress
from tsnl.store.registry import register

FRACTION = 0.01  # where neither a tolerance nor a fraction is given


@register
@dataclass(frozen=True)
class RejectionABC(Method):
    """Keep the prior draws whose simulated series are close to the observed one.

    Attributes:
        draws: how many to keep.
        tolerance: keep series within this distance, and simulate until there are enough; or
        fraction: keep this fraction of the simulations, the closest ones; 0.01 where both are None.
        distance: "euclidean", "standardised", or a function (simulated, observed) -> float.
        summary_fn: from a series (T, d_y) to the array that is compared; the series itself where None.
        max_cost: calls of the dynamics that it may use in all.
        min_acceptance: acceptance rate below which it stops, where a tolerance is given.
    """

    draws: int = 1000
    tolerance: int | float | None = None
    fraction: int | float | None = None
    distance: Distance = "euclidean"
    summary_fn: Callable[..., Any] | None = None
    max_cost: int | None = None
    min_acceptance: int | float = 1e-4

    def __post_init__(self) -> None:
        check_distance(self.distance, self.summary_fn)
        if self.tolerance is not None and self.fraction is not None:
            raise ValueError(
                f"tolerance is {self.tolerance} and fraction is {self.fraction}, expected one of the "
                f"two: leave out the other."
            )
        expect(self, "draws", "a whole number from 1 on", lambda n: whole(n, 1))
        expect(self, "tolerance", "None or at least 0", lambda x: x is None or x >= 0)
        expect(self, "fraction", "None, or above 0 and at most 1", lambda x: x is None or 0 < x <= 1)
        expect(self, "max_cost", "None or a whole number from 1 on", lambda n: n is None or whole(n, 1))
        expect(self, "min_acceptance", "at least 0 and below 1", lambda x: 0 <= x < 1)
        check_fields(self)

    def run(self, key: Key[Array, ""], problem: Problem, progress: Progress) -> Outcome:
        """Infer; see `tsnl.infer`."""
        clock = time.perf_counter()
        key_trials, _ = jax.random.split(key)
        trials = Trials.of(key_trials, problem, self.distance, self.summary_fn, self.max_cost)
        progress.start("Rejection ABC", 1)
        if self.tolerance is None:
            z, distances, why = self._closest(trials, progress)
        else:
            z, distances, why = self._within(trials, progress, self.tolerance)
        tolerance = float(distances.max() if self.tolerance is None else self.tolerance)
        record = {
            "tolerance": tolerance,
            "particles": len(z),
            "acceptance": len(z) / trials.count,
            "simulations": trials.count,
            "failed": trials.failed,
            "cost": trials.cost,
            "seconds": time.perf_counter() - clock,
        }
        status = f"{why}; tolerance {tolerance:.4g}; cost {trials.cost:,}"
        progress.now(1, status)
        arrays = {"z": z, "distances": distances, **trials.log.arrays()}
        nothing = np.full((1, len(z)), np.nan)
        return Outcome(z[None], nothing, trials.cost, status, [record], arrays=arrays)

    def _closest(
        self, trials: Trials, progress: Progress
    ) -> tuple[Float[np.ndarray, "n size"], Float[np.ndarray, " n"], str]:
        """The closest fraction of as many simulations as the draws ask for and the budget allows."""
        fraction = FRACTION if self.fraction is None else self.fraction
        wanted = int(np.ceil(self.draws / fraction))
        n = trials.affordable(wanted)
        z, distances = _try_prior(trials, n, lambda done: progress.now(done / n, "prior simulations"))
        keep = min(self.draws, max(round(fraction * n), 1), int(np.isfinite(distances).sum()))
        if keep < 1:
            raise ValueError(
                f"None of {n} prior simulations has a finite distance: check the simulator, the "
                f"prior's range and the distance."
            )
        chosen = np.sort(np.argsort(distances, kind="stable")[:keep])
        how = "finished" if n == wanted else f"stopped: max_cost {self.max_cost:,} is used up"
        return z[chosen], distances[chosen], f"{how}: the closest {keep:,} of {n:,} prior simulations"

    def _within(
        self, trials: Trials, progress: Progress, tolerance: float | int
    ) -> tuple[Float[np.ndarray, "n size"], Float[np.ndarray, " n"], str]:
        """Prior draws within the tolerance, until there are enough or a limit is reached."""
        parts: list[tuple[np.ndarray, np.ndarray]] = []
        accepted, closest, why = 0, np.inf, f"finished: {self.draws:,} draws within the tolerance"
        while accepted < self.draws:
            missing = self.draws - accepted
            rate = max(accepted, 1) / trials.count if trials.count else 1.0
            n = trials.affordable(min(round_up(int(np.ceil(missing / rate))), MAX_BATCH))
            got = f"with {accepted:,} of {self.draws:,} draws"
            if n < 1:
                why = f"stopped {got}: max_cost {self.max_cost:,} is used up"
                break
            if collapsed(accepted, trials.count, self.min_acceptance):
                why = f"stopped {got}: the acceptance rate {accepted / trials.count:.2g} is below "
                why += f"min_acceptance {self.min_acceptance:.2g}"
                break
            z = trials.draw_prior(n)
            distances = trials.run(z) if trials.count else trials.fit(z)
            yes = distances <= tolerance
            parts.append((z[yes], distances[yes]))
            accepted, closest = accepted + int(yes.sum()), min(closest, float(distances.min()))
            progress.now(min(accepted / self.draws, 1), f"{accepted:,} draws, cost {trials.cost:,}")
        if accepted == 0:
            raise ValueError(
                f"None of {trials.count:,} prior simulations came within the tolerance {tolerance}; the "
                f"closest is at {closest:.4g}. Raise the tolerance or max_cost, or use SMCABC."
            )
        z, distances = (np.concatenate(column)[: self.draws] for column in zip(*parts, strict=True))
        return z, distances, why


def _try_prior(
    trials: Trials, n: int, report_progress: Callable[[int], None]
) -> tuple[Float[np.ndarray, "n size"], Float[np.ndarray, " n"]]:
    """Prior draws, n of them, and the distances of their series."""
    z = trials.draw_prior(n)
    parts = []
    for start in range(0, n, MAX_BATCH):
        report_progress(start)
        part = z[start : start + MAX_BATCH]
        parts.append(trials.run(part) if trials.count else trials.fit(part))
    return z, np.concatenate(parts)
