"""Chains of MCMC-ABC: one step of all of them, and what they learn on the way."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float

from tsnl.methods.abc.tolerance import DistanceWeight, log_weight
from tsnl.methods.abc.trials import Trials

JUMP = 2.4  # standard deviations of a step, over the root of the dimension


@dataclass
class Walk:
    """Where the chains are.

    Attributes:
        rng: where proposals come from.
        trials: the simulations of the run.
        distance_weight, tolerance: how a distance is judged.
        z: a row for each chain.
        distances: of the series that got each chain where it is.
        accepted, tried: steps since the last phase began.
    """

    rng: np.random.Generator
    trials: Trials
    distance_weight: DistanceWeight
    tolerance: float
    z: Float[np.ndarray, "chain size"]
    distances: Float[np.ndarray, " chain"]
    accepted: int = 0
    tried: int = 0
    path: list[Float[np.ndarray, "chain size"]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.log_prior = self.trials.log_prior(self.z)
        self.factor = self._factor(self.z)

    @property
    def rate(self) -> float:
        """Share of the steps that were accepted."""
        return self.accepted / max(self.tried, 1)

    def step(self, *, settled: bool) -> None:
        """One step of every chain, one batch of simulations.

        Before the chains have settled, one that is still outside the tolerance may move to wherever it
        comes no further away.
        """
        limit = np.full(len(self.z), self.tolerance)
        if not settled and self.distance_weight == "uniform":
            limit = np.maximum(limit, self.distances)
        z = self.z + self.rng.normal(size=self.z.shape) @ self.factor.T
        log_prior = self.trials.log_prior(z)
        # not `sampling.metropolis.accept`: the same uniform is used before the simulation and after it
        level = np.log(self.rng.uniform(size=len(z)))
        gain = log_prior - self.log_prior - log_weight(self.distances, limit, self.distance_weight)
        worth = level <= gain  # a distance weighs at most one: the others are rejected whatever it is
        distances = np.full(len(z), np.inf)
        if worth.any():
            distances[worth] = self.trials.run(z[worth])
        yes = worth & (level <= gain + log_weight(distances, limit, self.distance_weight))
        self.z = np.where(yes[:, None], z, self.z)
        self.distances = np.where(yes, distances, self.distances)
        self.log_prior = np.where(yes, log_prior, self.log_prior)
        self.accepted, self.tried = self.accepted + int(yes.sum()), self.tried + len(z)
        if not settled:
            self.path.append(self.z)

    def learn(self) -> None:
        """Take the proposal's covariance from the later half of all chains' paths so far."""
        self.factor = self._factor(np.concatenate(self.path[len(self.path) // 2 :]))

    def settle(self) -> int:
        """End the warm-up: move chains that are still outside the tolerance to others that are not.

        Returns:
            How many were moved.

        Raises:
            ValueError: no chain is within the tolerance.
        """
        outside = self.outside()
        if outside.all():
            raise ValueError(
                f"No chain came within the tolerance {self.tolerance} during the warm-up; the closest "
                f"is at {self.distances.min():.4g}. Raise the tolerance or num_warmup."
            )
        source = self.rng.choice(np.flatnonzero(~outside), size=int(outside.sum()))
        for values in (self.z, self.distances, self.log_prior):
            values[outside] = values[source]
        self.accepted = self.tried = 0
        return int(outside.sum())

    def outside(self) -> Bool[np.ndarray, " chain"]:
        """Chains that are not within the tolerance."""
        return np.isneginf(log_weight(self.distances, self.tolerance, self.distance_weight))

    def _factor(self, cloud: Float[np.ndarray, "n size"]) -> Float[np.ndarray, "size size"]:
        size = cloud.shape[1]
        covariance = np.atleast_2d(np.cov(cloud.T))
        covariance = covariance + (1e-10 * np.trace(covariance) + 1e-12) * np.eye(size)
        return JUMP / np.sqrt(size) * np.linalg.cholesky(covariance)
