"""Trying parameters: simulate at them, measure how far off the series are, count the cost."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.methods.abc.distance import Distance, Measure
from tsnl.problem import Problem
from tsnl.problem.prior import Prior
from tsnl.runtime.blocks import by_block
from tsnl.simulation.batch import CHUNK
from tsnl.simulation.failures import FailureLog

BLOCK = 16 * CHUNK  # rows that a compiled call on the prior handles at once; one size, compiled once
MAX_BATCH = 8 * BLOCK  # series in memory at once
PATIENCE = 20  # candidates that the lowest rate would accept, before a rate is judged to have collapsed


@dataclass
class Trials:
    """All simulations of one ABC run.

    Attributes:
        key_prior, key_simulate: where prior draws and simulations come from; simulation i of the run
            draws with `fold_in(key_simulate, i)`.
        problem: the question.
        measure: the distance.
        max_cost: calls of the dynamics that it may use; None for any number.
        count: series simulated so far.
        failed: those of them that have no distance.
        num_blocks: blocks of prior draws so far.
        log: number, parameters and reason of the simulations that failed.
    """

    key_prior: Key[Array, ""]
    key_simulate: Key[Array, ""]
    problem: Problem
    measure: Measure
    max_cost: int | None
    count: int = 0
    failed: int = 0
    num_blocks: int = 0
    log: FailureLog = field(default_factory=FailureLog)

    @staticmethod
    def of(
        key: Key[Array, ""],
        problem: Problem,
        distance: Distance,
        summary_fn: Callable[..., Any] | None,
        max_cost: int | None,
    ) -> "Trials":
        """No simulation yet.

        Raises:
            ValueError: the budget does not allow one series.
        """
        if max_cost is not None and max_cost < problem.length:
            raise ValueError(
                f"max_cost is {max_cost}, expected at least {problem.length}: one series of the "
                f"observed length calls the dynamics so often."
            )
        key_prior, key_simulate = jax.random.split(key)
        measure = Measure.of(distance, summary_fn, problem.series)
        return Trials(key_prior, key_simulate, problem, measure, max_cost)

    @property
    def cost(self) -> int:
        """Calls of the dynamics so far, those for rejected and failed series too."""
        return self.count * self.problem.length

    def affordable(self, n: int) -> int:
        """How many of n further series the budget allows."""
        if self.max_cost is None:
            return n
        return min(n, (self.max_cost - self.cost) // self.problem.length)

    def draw_prior(self, n: int) -> Float[np.ndarray, "n size"]:
        """Draws of z from the prior, new ones at each call."""
        parts = []
        for _ in range(0, n, BLOCK):
            key = jax.random.fold_in(self.key_prior, self.num_blocks)
            parts.append(np.asarray(_draw(self.problem.prior, key), dtype=np.float64))
            self.num_blocks += 1
        return np.concatenate(parts)[:n]

    def log_prior(self, z: Float[np.ndarray, "n size"]) -> Float[np.ndarray, " n"]:
        """The prior log-density of each z; minus infinity where there is none."""
        found = by_block(lambda part: _log_prior(self.problem.prior, part), z, BLOCK)
        return np.where(np.isfinite(found), found, -np.inf).astype(np.float64)

    def fit(self, z: Float[np.ndarray, "n size"]) -> Float[np.ndarray, " n"]:
        """The distances of the first prior simulations, from which the measure learns its scale."""
        series = self._simulate(z[:MAX_BATCH])
        self.measure = self.measure.fit(series)
        found = self._judge(z[:MAX_BATCH], series)
        return found if len(z) <= MAX_BATCH else np.concatenate([found, self.run(z[MAX_BATCH:])])

    def run(self, z: Float[np.ndarray, "n size"]) -> Float[np.ndarray, " n"]:
        """Simulate at each z: how far off the series is, infinity where it failed."""
        parts = [z[start : start + MAX_BATCH] for start in range(0, len(z), MAX_BATCH)]
        return np.concatenate([self._judge(part, self._simulate(part)) for part in parts])

    def _simulate(self, z: Float[np.ndarray, "n size"]) -> Float[np.ndarray, "n T d_y"]:
        theta = by_block(lambda part: _constrain(self.problem.prior, part), z, BLOCK)
        batch = self.problem.simulate(self.key_simulate, theta, self.count)
        self.log = self.log.added(batch.failures, z, self.count)
        self.count += len(z)
        return batch.series

    def _judge(
        self, z: Float[np.ndarray, "n size"], series: Float[np.ndarray, "n T d_y"]
    ) -> Float[np.ndarray, " n"]:
        found = np.where(np.isfinite(z).all(axis=1), self.measure(series), np.inf)
        self.failed += int(np.isinf(found).sum())
        return found


def round_up(n: int) -> int:
    """The next multiple of what one compiled call simulates."""
    return -(-n // CHUNK) * CHUNK


def collapsed(accepted: int, tried: int, min_acceptance: int | float) -> bool:
    """Whether so many tries show that the acceptance rate is below the least allowed one."""
    return tried * min_acceptance >= PATIENCE and accepted < tried * min_acceptance


def expect(options: Any, name: str, expected: str, good: Callable[[Any], bool]) -> None:
    """Raise ValueError where an option is not what is expected of it."""
    value = getattr(options, name)
    try:
        fine = good(value)
    except TypeError:  # of another type
        fine = False
    if not fine:
        raise ValueError(f"{name} is {value!r}, expected {expected}.")


def whole(value: Any, least: int) -> bool:
    """Whether it is an integer, and no bool, of at least so much."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= least)


@eqx.filter_jit
def _draw(prior: Prior, key: Key[Array, ""]) -> Float[Array, "n size"]:
    return jax.vmap(prior.unconstrain)(prior.sample(key, BLOCK))


@eqx.filter_jit
def _constrain(prior: Prior, z: Float[Array | np.ndarray, "n size"]) -> dict[str, Array]:
    return jax.vmap(prior.constrain)(z)


@eqx.filter_jit
def _log_prior(prior: Prior, z: Float[Array | np.ndarray, "n size"]) -> Float[Array, " n"]:
    return jax.vmap(prior.log_prob_unconstrained)(z)
