"""The filter with learned dynamics on the observed series: how many runs, of how many particles."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from tsnl.likelihood.learned_filter import TOGETHER, LearnedFilter, log_likelihoods
from tsnl.likelihood.particle import whole_rows
from tsnl.problem import Problem
from tsnl.runtime.cores import on_all_cores
from tsnl.sampling import Draws

STAGES, MOST_STAGES = 3, 6  # the filter runs around the posterior, and again around what that gave
RUNS = 12  # of the filter, for each coefficient to be found, where there are few simulations
FEW, MOST_GROWTH = 500, 4.0  # simulations; times as many runs where there are more of them, at most
BLOCK = 32  # runs come in so many; simulated series that judge; runs that measure the noise
FEWEST, FIRST, MOST = 320, 640, 2560  # particles: at least, at first and at most
WORK = 1e8  # particles x their entries x rows x runs, about a minute
VARIANCE, LEAST_VARIANCE = 0.5, 0.05  # of a log-likelihood: to aim at, and what is never trusted to
MOST_VARIANCE = 8.0  # that is believed of one
SWEEPS, RIDGE = 20, 2.0  # of the regression of variances, and its prior in points


@dataclass(frozen=True)
class Runner:
    """The filter on the observed series.

    Attributes:
        filter_: the filter.
        panel: the observed series in the model's own shape.
        inputs: of each, or None.
        growth: times as many runs as few simulations are worth: what they teach would be lost in noise.
    """

    filter_: LearnedFilter
    panel: tuple[Array, ...]
    inputs: tuple[Array | None, ...]
    growth: float = 1.0

    @staticmethod
    def of(problem: Problem, filter_: LearnedFilter, simulations: int = FEW) -> "Runner":
        """For the series of a problem, by as many particles as the work allows at first."""
        known = problem.inputs or (None,) * len(problem.panel)
        rows = tuple(whole_rows(problem.laws, y, u) for y, u in zip(problem.panel, known, strict=True))
        inputs = tuple(None if u is None else jnp.asarray(u, dtype=float) for u in known)
        growth = float(np.clip(np.sqrt(simulations / FEW), 1.0, MOST_GROWTH))
        runner = Runner(filter_, rows, inputs, growth)
        return runner.with_particles(int(np.clip(runner.affordable(STAGES), FEWEST, FIRST)))

    @property
    def num_particles(self) -> int:
        """Of each filter."""
        return self.filter_.num_particles

    def affordable(self, stages: int) -> float:
        """Particles that the work allows in so many stages."""
        entries = len(self.filter_.transition.sources) * sum(len(rows) for rows in self.panel)
        return self.growth * WORK / (stages * self.num_points * entries)

    @property
    def num_points(self) -> int:
        """Runs of a stage."""
        return num_points(self.filter_.prior.size, self.growth)

    def with_particles(self, num_particles: int) -> "Runner":
        """The same by so many particles, rounded up to a multiple of the members."""
        members = self.filter_.transition.kernel.spec.num_members
        filter_ = replace(self.filter_, num_particles=-(-num_particles // members) * members)
        return replace(self, filter_=filter_)

    def quieter(self, variance: float, stages: int) -> "Runner":
        """By as many particles as this variance of a log-likelihood asks for, within the work of stages.

        The variance falls like one over the number of particles.
        """
        now = self.num_particles
        most = np.clip(self.affordable(stages), now, MOST)
        wanted = now * 2.0 ** np.ceil(np.log2(max(variance, LEAST_VARIANCE) / VARIANCE))
        return self.with_particles(int(np.clip(wanted, now, most)))

    def __call__(self, key: Key[Array, ""], z: Float[np.ndarray, "n size"]) -> Float[np.ndarray, " n"]:
        """Log-likelihoods of the observed series, at n points, n a multiple of `TOGETHER`."""
        total = np.zeros(len(z))
        for i, (rows, u) in enumerate(zip(self.panel, self.inputs, strict=True)):
            own = jnp.broadcast_to(rows, (len(z), *rows.shape))
            known = None if u is None else jnp.broadcast_to(u, (len(z), *u.shape))
            total += self.series(jax.random.fold_in(key, i), z, own, known)
        return total

    def look(self, key: Key[Array, ""], z: Float[np.ndarray, "n size"], variance: float) -> "Looks":
        """The same, with what single runs vary by: the variance given, or what two runs at a point say.

        Where it is large it differs from place to place, and the log of a noisy likelihood is too low by
        half of it.
        """
        n, particles = len(z), np.full(len(z), self.num_particles)
        if variance <= VARIANCE:
            return Looks(z, self(key, z), np.full(n, variance), np.ones(n), particles)
        one, other = (self(each, z) for each in jax.random.split(key))
        square = variance_of_two(one, other)
        return Looks(z, (one + other) / 2, square, np.full(n, 2.0), particles)

    def series(
        self,
        key: Key[Array, ""],
        z: Float[np.ndarray, "n size"],
        rows: Float[Array | np.ndarray, "n T ..."],
        inputs: Float[Array | np.ndarray, "n T d_u"] | None,
    ) -> Float[np.ndarray, " n"]:
        """Log-likelihoods of n series, each at a point of its own, on all cores."""
        keys, points = jax.random.split(key, len(z)), z.astype(jnp.result_type(float))

        def some(first: int) -> Float[np.ndarray, " some"]:
            part = slice(first, first + TOGETHER)
            known = None if inputs is None else inputs[part]
            found = log_likelihoods(keys[part], self.filter_, points[part], rows[part], known)
            return np.asarray(found, dtype=float)

        return np.concatenate(on_all_cores(some, range(0, len(z), TOGETHER)))


def num_points(size: int, growth: float = 1.0) -> int:
    """Filter runs of a stage: several for each term of a quadratic in all stages, in whole blocks."""
    terms = (size + 1) * (size + 2) // 2
    wanted = growth * RUNS * terms / (STAGES * BLOCK)
    return BLOCK * int(np.clip(np.ceil(wanted), 2, 6 * np.sqrt(growth)))


def with_particles(
    key: Key[Array, ""], runner: Runner, draws: Draws, stage: int
) -> tuple[Runner, float]:
    """As many particles as the variance asks for, within the work; and the variance that they have.

    The first look leaves their number as it is: it may be far from the posterior, where the variance
    says nothing.
    """
    flat = draws.z.reshape(-1, draws.z.shape[-1])
    nearest = np.argmin((((flat - flat.mean(axis=0)) / (flat.std(axis=0) + 1e-12)) ** 2).sum(axis=1))
    found = runner(key, np.tile(flat[nearest], (BLOCK, 1)))
    now, variance = runner.num_particles, max(float(found.var(ddof=1)), LEAST_VARIANCE)
    if stage > 0:
        runner = runner.quieter(variance, max(1, STAGES - stage))
    return runner, variance * now / runner.num_particles


class Looks(NamedTuple):
    """What filters said at some points.

    Attributes:
        z: the points.
        value: the mean of the log-likelihoods of the runs at each.
        square: a noisy estimate of the variance of one run.
        runs, particles: how many of them, and in each.
    """

    z: Float[np.ndarray, "n size"]
    value: Float[np.ndarray, " n"]
    square: Float[np.ndarray, " n"]
    runs: Float[np.ndarray, " n"]
    particles: Int[np.ndarray, " n"]

    def and_(self, more: "Looks") -> "Looks":
        """These and others."""
        return Looks(*(np.concatenate(pair) for pair in zip(self, more, strict=True)))

    def at(self, some: Bool[np.ndarray, " n"]) -> "Looks":
        """Some of them."""
        return Looks(*(one[some] for one in self))

    def levelled(
        self, x: Float[np.ndarray, "n size"]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Log-likelihoods without what noise takes from them, and their sds.

        Args:
            x: the points in units of the posterior, over which the variance is smooth.
        """
        share = self.particles / self.particles.max()  # one over the number of particles, up to a factor
        variance = smooth_variance(x, self.square * share) / share
        return self.value + variance / 2, np.sqrt(variance / self.runs)


def variance_of_two(
    one: Float[np.ndarray, " n"], other: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    r"""Twice what the log of a noisy likelihood is too low by, from two of them, by the jackknife.

    \(4 \log \cosh(d / 2)\) of their difference d: \(d^2 / 2\), the variance, where that is small, and
    less where it is large, since collapses of a filter make the log heavy to the left.
    """
    return 4 * (np.logaddexp(one, other) - (one + other) / 2 - np.log(2))


def smooth_variance(
    x: Float[np.ndarray, "n size"], found: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    r"""Variances that are linear in x on a logarithmic scale, from one noisy estimate of each.

    An estimate from two runs is v times a chi-square of one degree of freedom, whose log-likelihood
    \(-\tfrac12 \sum_i (\log v_i + s_i / v_i)\) is climbed by Fisher scoring: with a logarithmic link all
    weights are equal.
    """
    design = np.concatenate([np.ones((len(x), 1)), x], axis=1)
    gram = design.T @ design + RIDGE * np.diag([0.0, *np.ones(x.shape[1])])
    weights = np.zeros(design.shape[1])
    weights[0] = np.log(found.mean() + LEAST_VARIANCE)
    limits = np.log(LEAST_VARIANCE), np.log(MOST_VARIANCE)
    for _ in range(SWEEPS):
        log_v = np.clip(design @ weights, *limits)
        slope = design.T @ (found * np.exp(-log_v) - 1.0)
        slope[1:] -= RIDGE * weights[1:]
        weights += 0.5 * np.linalg.solve(gram, slope)
    return np.exp(np.clip(design @ weights, *limits))
