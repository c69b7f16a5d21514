"""One generation of SMC-ABC: particles that came within a tolerance, and their weights."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from tsnl.methods.abc.tolerance import DistanceWeight, accept, squares, tighten
from tsnl.methods.abc.trials import BLOCK, MAX_BATCH, Trials, collapsed, round_up
from tsnl.sampling.resampling import ess, resample

End = Literal["", "budget", "acceptance"]


@dataclass(frozen=True)
class Generation:
    """Weighted particles of one tolerance.

    Attributes:
        z: where they are.
        weights: they add up to one.
        distances: of the series that got each accepted.
        tolerance: the largest one that is accepted, or the width of the Gaussian weight.
        accepted: accepted candidates, those beyond the last particle too.
        tried: candidates simulated.
        end: why it was left before it was full; "" where it is full.
    """

    z: Float[np.ndarray, "n size"]
    weights: Float[np.ndarray, " n"]
    distances: Float[np.ndarray, " n"]
    tolerance: float
    accepted: int
    tried: int
    end: End = ""

    @property
    def ess(self) -> float:
        """The effective sample size."""
        return float(ess(self.weights)) if len(self.weights) else 0.0

    @property
    def rate(self) -> float:
        """Share of the candidates that were accepted."""
        return self.accepted / max(self.tried, 1)

    def resampled(self, rng: np.random.Generator, n: int) -> "Generation":
        """Particles of equal weight, n of them, each in proportion to what its weight was."""
        index = resample(self.weights, n, rng.uniform())
        return replace(self, z=self.z[index], distances=self.distances[index], weights=np.full(n, 1 / n))


def first_generation(
    rng: np.random.Generator,
    trials: Trials,
    num_particles: int,
    share: float,
    distance_weight: DistanceWeight,
) -> tuple[Generation, Float[np.ndarray, "k size"]]:
    """The share of prior draws whose series are closest, and all the prior draws.

    Raises:
        ValueError: no simulation has a distance.
    """
    n = trials.affordable(round(num_particles / share))
    prior = trials.draw_prior(n)
    distances = trials.fit(prior)
    there = np.isfinite(distances)
    if there.sum() < 2:
        raise ValueError(
            f"{int((~there).sum())} of {n} prior simulations have no finite distance: check the "
            f"simulator, the prior's range and the distance."
        )
    weights = np.ones(int(there.sum()))
    keep = min(share * n / len(weights), 1.0)
    tolerance = tighten(distances[there], weights, np.inf, keep, distance_weight)
    chosen = np.flatnonzero(accept(rng, distances, tolerance, distance_weight))
    if len(chosen) < 2:  # a very small budget: the two closest are all there is to go on with
        chosen = np.sort(np.argsort(distances, kind="stable")[:2])
    count, chosen = len(chosen), chosen[:num_particles]
    weights = np.full(len(chosen), 1 / len(chosen))
    new = Generation(prior[chosen], weights, distances[chosen], tolerance, count, n)
    return new, prior[np.isfinite(prior).all(axis=1)]


@dataclass(frozen=True)
class Filling:
    """How a generation is filled.

    Attributes:
        num_particles: how many to accept.
        distance_weight: how to accept.
        min_acceptance: the acceptance rate below which it is given up.
    """

    num_particles: int
    distance_weight: DistanceWeight
    min_acceptance: int | float


def next_generation(
    rng: np.random.Generator,
    trials: Trials,
    last: Generation,
    tolerance: float,
    filling: Filling,
    report_progress: Callable[[int], None],
) -> Generation:
    """Perturb particles of the last generation until enough come within the new tolerance.

    Candidates come in batches of about as many as the acceptance rate so far asks for; `report_progress`
    gets how many are accepted.
    """
    factor = perturbation(last)
    z, distances, log_prior = last.z[:0], last.distances[:0], last.distances[:0]
    tried = 0
    end: End = ""
    while len(z) < filling.num_particles:
        report_progress(len(z))
        rate = max(len(z), 1) / tried if tried else 1.0
        n = round_up(int(np.ceil((filling.num_particles - len(z)) / rate)))
        n = trials.affordable(min(n, MAX_BATCH))
        if n < 1 or collapsed(len(z), tried, filling.min_acceptance):
            end = "budget" if n < 1 else "acceptance"
            break
        ancestors = last.z[rng.choice(len(last.z), size=n, p=last.weights)]
        candidates = ancestors + rng.normal(size=ancestors.shape) @ factor.T
        found, log_p = trials.run(candidates), trials.log_prior(candidates)
        yes = accept(rng, found, tolerance, filling.distance_weight) & np.isfinite(log_p)
        z = np.concatenate([z, candidates[yes]])
        distances, log_prior = np.append(distances, found[yes]), np.append(log_prior, log_p[yes])
        tried += n
    part = slice(filling.num_particles)
    weights = importance(z[part], log_prior[part], last, factor)
    return Generation(z[part], weights, distances[part], float(tolerance), len(z), tried, end)


def perturbation(last: Generation) -> Float[np.ndarray, "size size"]:
    """A Cholesky factor of twice the weighted covariance."""
    gap = last.z - last.weights @ last.z
    covariance = 2 * gap.T @ (gap * last.weights[:, None])
    size = len(covariance)
    return np.linalg.cholesky(covariance + (1e-10 * np.trace(covariance) + 1e-12) * np.eye(size))


def importance(
    z: Float[np.ndarray, "n size"],
    log_prior: Float[np.ndarray, " n"],
    last: Generation,
    factor: Float[np.ndarray, "size size"],
) -> Float[np.ndarray, " n"]:
    r"""Weights \(w(z) \propto p(z) / \sum_j w_j \, N(z; z_j, 2 \Sigma)\), adding up to one."""
    whiten = np.linalg.inv(factor).T
    a, b = z @ whiten, last.z @ whiten
    log_proposal = np.zeros(len(z))
    for start in range(0, len(z), BLOCK):
        part = slice(start, start + BLOCK)
        exponents = -squares(a[part], b) / 2
        top = exponents.max(axis=1)
        log_proposal[part] = top + np.log(np.exp(exponents - top[:, None]) @ last.weights)
    if len(z) == 0:
        return np.zeros(0)
    log_weights = log_prior - log_proposal
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()
