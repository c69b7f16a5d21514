r"""The right posterior of one or several series, by whatever the model allows.

Exactly where it is linear and Gaussian; else by an unbiased estimate, a particle filter for each series.
"""

from typing import Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.likelihood.estimate import Estimate
from tsnl.likelihood.exact import ExactLikelihood
from tsnl.models.base import StateSpaceModel
from tsnl.models.linear_gaussian import LinearGaussian
from tsnl.problem import Problem
from tsnl.problem.prior import Prior


@runtime_checkable
class Target(Protocol):
    r"""\(\log p(z) + \log \hat p(y \mid \theta(z))\), whose exponential is unbiased."""

    @property
    def num_particles(self) -> int:
        """Of each filter; 0 where the likelihood is exact, and needs none."""
        ...

    def with_particles(self, num_particles: int) -> "Target":
        """The same by filters of so many particles."""
        ...

    def __call__(self, key: Key[Array, ""], z: Float[Array, " size"]) -> Float[Array, ""]:
        """Of z, by one run of each filter; -inf where it is impossible, never NaN."""
        ...


class Estimates(eqx.Module):
    """Of several series, independent given theta: a filter for each.

    Attributes:
        prior: the prior.
        parts: of each series alone, the prior in it.
    """

    prior: Prior = eqx.field(static=True)
    parts: tuple[Estimate, ...]

    @property
    def num_particles(self) -> int:
        """Of each filter."""
        return self.parts[0].num_particles

    def with_particles(self, num_particles: int) -> "Estimates":
        """The same by filters of so many particles."""
        return Estimates(self.prior, tuple(part.with_particles(num_particles) for part in self.parts))

    def __call__(self, key: Key[Array, ""], z: Float[Array, " size"]) -> Float[Array, ""]:
        """One run of each filter; the prior counts once."""
        keys = jax.random.split(key, len(self.parts))
        found = jnp.stack([part(k, z) for k, part in zip(keys, self.parts, strict=True)])
        value = jnp.sum(found) - (len(self.parts) - 1) * self.prior.log_prob_unconstrained(z)
        return jnp.where(jnp.isnan(value), -jnp.inf, value)


class ExactTarget(eqx.Module):
    """By the Kalman filter: nothing in it is random.

    Attributes:
        prior: the prior.
        parts: the likelihood of each series.
    """

    prior: Prior = eqx.field(static=True)
    parts: tuple[ExactLikelihood, ...]

    @property
    def num_particles(self) -> int:
        """None: the filter computes moments."""
        return 0

    def with_particles(self, num_particles: int) -> "ExactTarget":
        """The same."""
        return self

    def __call__(self, key: Key[Array, ""], z: Float[Array, " size"]) -> Float[Array, ""]:
        """In the precision at hand."""
        value = self.prior.log_prob_unconstrained(z) + sum(part(z) for part in self.parts)
        return jnp.where(jnp.isnan(value), -jnp.inf, value)


def has_target(problem: Problem) -> bool:
    """Whether `target_of` works on it: the model has densities, and no row is missing in part."""
    model = problem.model
    if isinstance(model, LinearGaussian):
        return True
    return isinstance(model, StateSpaceModel) and model.has_density and has_whole_rows(problem)


def has_whole_rows(problem: Problem) -> bool:
    """Whether no observed row is missing in part."""
    gaps = [np.isnan(one) for one in problem.panel]
    return not any((gap.any(axis=1) & ~gap.all(axis=1)).any() for gap in gaps)


def target_of(problem: Problem, num_particles: int) -> Target:
    """What the model of a problem allows.

    Raises:
        TypeError: it has no laws, or no `log_observation`.
        ValueError: a row is missing in part.
    """
    model, prior = problem.laws, problem.prior
    if isinstance(model, LinearGaussian):
        return ExactTarget(prior, tuple(ExactLikelihood(prior, model, y) for y in problem.panel))
    known = problem.inputs or (None,) * len(problem.panel)
    pairs = zip(problem.panel, known, strict=True)
    parts = tuple(Estimate.of(model, prior, y, num_particles, u) for y, u in pairs)
    return parts[0] if len(parts) == 1 else Estimates(prior, parts)
