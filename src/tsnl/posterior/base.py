"""The posterior that a prior and a likelihood, learned or exact, define for some series."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Key

from tsnl.kernel.fitted import Kernel
from tsnl.likelihood.correction import Correction
from tsnl.likelihood.surrogate import SurrogateLikelihood
from tsnl.problem.draws import constrained
from tsnl.problem.prior import Prior
from tsnl.problem.series import as_panel
from tsnl.problem.sites import Theta
from tsnl.runtime.checked import check_field
from tsnl.runtime.seeds import key_of
from tsnl.sampling.mcmc import MCMC, Draws, sample

if TYPE_CHECKING:
    from tsnl.posterior.stream import Stream

Panel: TypeAlias = tuple[Float[np.ndarray, "_ columns"], ...]


class LogDensity(eqx.Module):
    r"""\(\log p(\theta(z)) + \log p(y \mid \theta(z)) + \log |\partial\theta / \partial z|\)."""

    prior: Prior = eqx.field(static=True)
    likelihood: Callable[[Float[Array, " size"]], Float[Array, ""]]

    def __call__(self, z: Float[Array, " size"]) -> Float[Array, ""]:
        """Of z, unnormalised."""
        return self.prior.log_prob_unconstrained(z) + self.likelihood(z)


class Power(eqx.Module):
    r"""\(\beta \log p(y \mid \theta)\)."""

    likelihood: Callable[[Float[Array, " size"]], Float[Array, ""]]
    power: Float[Array, ""]

    def __call__(self, z: Float[Array, " size"]) -> Float[Array, ""]:
        """Of z."""
        return self.power * self.likelihood(z)


@dataclass(frozen=True, eq=False)
class Posterior:
    r"""\(p(\theta \mid y) \propto p(\theta) \, p(y_{1:T} \mid \theta)\), unnormalised.

    Attributes:
        prior: the prior.
        likelihood: log-likelihood of an unconstrained z.
        panel: the observed series, as they were given.
        inputs: their known inputs, None where there are none.
        z: unconstrained draws of it, where there are some.
    """

    prior: Prior
    likelihood: Callable[[Float[Array, " size"]], Float[Array, ""]]
    panel: Panel = ()
    inputs: Panel | None = None
    z: Float[np.ndarray, "chain draw size"] | None = None

    @staticmethod
    def learned(
        prior: Prior, kernel: Kernel, panel: Panel, inputs: Panel | None = None, completion: Any = None
    ) -> "Posterior":
        """By a kernel, of series that are known to fit it."""
        rows = [kernel.spec.rows(one) for one in panel]
        known = None if kernel.spec.whole else inputs
        likelihood = SurrogateLikelihood.of(kernel, *rows, inputs=known, completion=completion)
        return Posterior(prior, likelihood, panel, inputs)

    def to_the_power(self, power: float) -> "Posterior":
        """With the likelihood raised to a power: below one, closer to the prior."""
        return replace(self, likelihood=Power(self.likelihood, jnp.asarray(power, dtype=float)))

    @property
    def kernel(self) -> Kernel | None:
        """The learned kernel; None where the likelihood is exact."""
        return self.likelihood.kernel if isinstance(self.likelihood, SurrogateLikelihood) else None

    @property
    def log_density(self) -> LogDensity:
        """The unnormalised log-density of z, as samplers and compiled functions take it."""
        return LogDensity(self.prior, self.likelihood)

    def __call__(self, z: Float[ArrayLike, " size"]) -> Float[Array, ""]:
        """The log-density of z, unnormalised."""
        return self.log_density(jnp.asarray(z))

    def log_prob(self, theta: Theta) -> Float[Array, ""]:
        """The unnormalised log-density of theta in its own, constrained, coordinates."""
        z = self.prior.unconstrain(theta)
        return self.prior.log_prob(theta) + _value(self.likelihood, z)

    def condition(self, series: Any, inputs: Any = None) -> "Posterior":
        """The posterior of other data from the same model, by the same kernel: no simulation.

        Args:
            series: (T,) or (T, d_y), of any length; or a list of such series, whose likelihoods are
                multiplied.
            inputs: known inputs (T,) or (T, d_u), or a list of them, where the kernel learned with some.

        Raises:
            TypeError: there is no learned kernel.
            ValueError: a series that does not fit it.
        """
        if self.kernel is None:
            raise TypeError("This posterior has no learned kernel to use again: call tsnl.infer anew.")
        panel = [one.values for one in as_panel(series)]
        known = self.kernel.check_inputs(inputs, [len(one) for one in panel])
        for one in panel:
            self.kernel.check_series(one)
        return self.given(tuple(panel), known)

    def given(self, panel: Panel, inputs: Panel | None = None) -> "Posterior":
        """The same for series that are known to fit the kernel, NaN where they do not count."""
        assert isinstance(self.likelihood, SurrogateLikelihood)
        old = self.likelihood
        made = Posterior.learned(self.prior, old.kernel, panel, inputs, old.completion)
        return made.corrected(old.correction) if self._go_on(panel) else made

    def corrected(self, correction: Correction | None) -> "Posterior":
        """The same with a correction of the learned likelihood of these series."""
        assert isinstance(self.likelihood, SurrogateLikelihood)
        return replace(self, likelihood=replace(self.likelihood, correction=correction))

    def _go_on(self, panel: Panel) -> bool:
        """Whether series begin with the rows of this posterior's own: what is known of them stays."""
        pairs = zip(self.panel, panel, strict=False)
        same = all(np.array_equal(old, new[: len(old)], equal_nan=True) for old, new in pairs)
        return bool(self.panel) and len(panel) == len(self.panel) and same

    def update(
        self, rows: Any, inputs: Any = None, *, seed: int = 0, num_particles: int = 2000
    ) -> "Stream":
        """The posterior after new rows, without a simulation; this one is left as it is.

        Weighted particles follow the data: what comes back is a `Stream`, whose own `update` goes on at
        a cost that does not depend on how long the series is.

        Args:
            rows: (d_y,) for one row or (n, d_y), NaN where missing.
            inputs: known inputs of these rows, where the kernel learned with some.
            seed: one integer.
            num_particles: how many particles follow the data.
        """
        from tsnl.posterior.stream import Stream  # which is made of posteriors

        if self.kernel is None or self.kernel.spec.whole or len(self.panel) != 1:
            raise TypeError("Streaming needs a posterior of one series with a learned kernel: use TSNL.")
        known = None if self.inputs is None else self.inputs[0]
        stream = Stream.begin(self, self.panel[0], known, seed=seed, num_particles=num_particles)
        return stream.update(rows, inputs)

    def sample(
        self, *, seed: int, start: Any = None, options: MCMC | None = None
    ) -> dict[str, np.ndarray]:
        """Draw theta by MCMC, with no simulation: name to array (chain, draw, *event).

        Args:
            seed: one integer.
            start: unconstrained points near the mass, as many as there are; prior draws where None.
            options: how to sample.
        """
        check_field("options", options, MCMC | None)
        draws = sample_posterior(key_of(seed), self, start, options or MCMC())
        return constrained(self.prior, draws.z)


@eqx.filter_jit
def _value(likelihood: Any, z: Float[Array, " size"]) -> Float[Array, ""]:
    return likelihood(z)


def sample_posterior(
    key: Key[Array, ""], posterior: Posterior, points: Any, options: MCMC, spread: Any = None
) -> Draws:
    """Chains that start at the best of some points (prior draws where None).

    Args:
        key: a JAX random key.
        posterior: what to sample.
        points: unconstrained points near the mass.
        options: how.
        spread: a covariance of about the posterior's size, a twentieth of the prior's where None.
    """
    key_points, key_sample = jax.random.split(key)
    if points is None or spread is None:
        cloud = posterior.prior.sample_unconstrained(key_points, 256)
        points = cloud if points is None else points
        spread = 0.05 * np.atleast_2d(np.cov(cloud.T)) if spread is None else spread
    dtype = jnp.asarray(0.0).dtype
    target = posterior.log_density
    return sample(key_sample, target, np.asarray(points, dtype), np.asarray(spread, dtype), options)
