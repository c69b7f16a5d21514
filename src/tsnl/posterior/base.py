"""The posterior that a prior and a likelihood, learned or exact, define for one series."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.kernel.fitted import Kernel
from tsnl.kernel.memory import Windows
from tsnl.likelihood.surrogate import SurrogateLikelihood
from tsnl.problem.draws import constrained
from tsnl.problem.prior import Prior
from tsnl.problem.series import as_inputs, as_panel
from tsnl.problem.sites import Theta
from tsnl.sampling.mcmc import MCMC, Draws, sample

if TYPE_CHECKING:
    from tsnl.posterior.stream import Stream


class Posterior(eqx.Module):
    r"""\(p(\theta \mid y) \propto p(\theta) \, p(y_{1:T} \mid \theta)\), unnormalised.

    Attributes:
        prior: the prior.
        likelihood: log-likelihood of an unconstrained z.
    """

    prior: Prior = eqx.field(static=True)
    likelihood: Callable[[Float[Array, " size"]], Float[Array, ""]]

    @property
    def kernel(self) -> Kernel | None:
        """The learned kernel; None where the likelihood is exact."""
        return getattr(self.likelihood, "kernel", None)

    def __call__(self, z: Float[Array, " size"]) -> Float[Array, ""]:
        """The log-density of z, unnormalised."""
        return self.prior.log_prob_unconstrained(z) + self.likelihood(z)

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
        panel = as_panel(series)
        known = check_inputs(self.kernel, inputs, [len(one) for one in panel])
        return self.condition_rows(*(check_rows(self.kernel, one) for one in panel), inputs=known)

    def condition_rows(
        self,
        *panel: Float[np.ndarray, "_ entries"],
        inputs: tuple[Float[np.ndarray, "_ d_u"], ...] | None = None,
    ) -> "Posterior":
        """The same for rows that are known to fit the kernel, NaN where they do not count."""
        assert self.kernel is not None
        completion = getattr(self.likelihood, "completion", None)
        likelihood = SurrogateLikelihood.of(self.kernel, *panel, inputs=inputs, completion=completion)
        return Posterior(self.prior, likelihood)

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

        series, known = self.observed()
        stream = Stream.begin(self, series, known, seed=seed, num_particles=num_particles)
        return stream.update(rows, inputs)

    def observed(self) -> tuple[Float[np.ndarray, "T d_y"], Float[np.ndarray, "T d_u"] | None]:
        """The one series behind it, NaN where missing, and its inputs; up to rounding."""
        windows: Windows | None = getattr(self.likelihood, "windows", None)
        if windows is None or self.kernel is None or len(windows.y) > 1:
            raise TypeError("Streaming needs a posterior of one series with a learned kernel: use TSNL.")
        scaling = self.kernel.scaling
        rows = np.asarray(scaling.restore(windows.y[0]), dtype=np.float64)
        u = np.asarray(windows.u[0] * scaling.u_scale + scaling.u_mean, dtype=np.float64)
        return np.where(np.asarray(windows.seen[0]), rows, np.nan), u if u.size else None

    def sample(
        self, *, seed: int, start: Any = None, options: MCMC | None = None
    ) -> dict[str, np.ndarray]:
        """Draw theta by MCMC, with no simulation: name to array (chain, draw, *event).

        Args:
            seed: one integer.
            start: unconstrained points near the mass, as many as there are; prior draws where None.
            options: how to sample.
        """
        draws = sample_posterior(jax.random.key(seed), self, start, options or MCMC())
        return constrained(self.prior, draws.z)


@eqx.filter_jit
def _value(likelihood: Any, z: Float[Array, " size"]) -> Float[Array, ""]:
    return likelihood(z)


def check_rows(kernel: Kernel, series: Float[np.ndarray, "T d_y"]) -> Float[np.ndarray, "rows entries"]:
    """A series as the kernel sees it: row by row, or as one row where the kernel has no past.

    Raises:
        ValueError: it does not fit.
    """
    num_entries = kernel.scaling.y_mean.shape[0]
    whole = kernel.past.lag == 0 and not kernel.past.decays
    rows = series.reshape(1, -1) if whole else series
    if rows.shape[1] != num_entries:
        what = "entries in all" if whole else "column(s)"
        raise ValueError(f"The series has {rows.shape[1]} {what}, the kernel knows {num_entries}.")
    if np.isnan(rows).any() and not kernel.gaps:
        raise ValueError(
            "The series has missing entries, which this kernel was not trained for: infer with "
            "TSNL(gaps=True)."
        )
    return rows


def check_inputs(
    kernel: Kernel, inputs: Any, lengths: list[int]
) -> tuple[Float[np.ndarray, "_ d_u"], ...] | None:
    """Known inputs of series of these lengths, as the kernel takes them.

    Raises:
        ValueError: they do not fit, or are there where they should not be.
    """
    d_u = kernel.past.d_u
    if inputs is None and d_u == 0:
        return None
    if inputs is None:
        raise ValueError(f"The kernel learned with {d_u} column(s) of inputs: give inputs here too.")
    if d_u == 0:
        raise ValueError("inputs were given, and the kernel learned without: infer(..., inputs=...).")
    known = as_inputs(inputs, lengths)
    if known[0].shape[1] != d_u:
        raise ValueError(f"inputs has {known[0].shape[1]} column(s), the kernel knows {d_u}.")
    return known


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
    return sample(key_sample, posterior, np.asarray(points, dtype), np.asarray(spread, dtype), options)
