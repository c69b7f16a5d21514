r"""A posterior that follows its data: weighted particles of theta, moved by one factor for each new row.

.. math::
    w_i \leftarrow w_i \, q(y_{t+1} \mid \text{past}_{t+1}, \theta_i),

with resampling and Metropolis steps on all rows so far when the effective size falls below one half
(iterated batch importance sampling; Chopin, 2002). A row costs the same however long the series is.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from tsnl.density.kernel import Kernel
from tsnl.posterior.base import Posterior, check_rows, constrained, sample_posterior
from tsnl.sampling.mcmc import MCMC
from tsnl.sampling.smc import Cloud, rejuvenate
from tsnl.sampling.spread import spread
from tsnl.series import as_series
from tsnl.windows import Recent

REFRESH = 0.5  # effective share of the particles below which they are moved
CAPACITY = 256  # rows that a likelihood is compiled for grow by as many


@dataclass(frozen=True)
class Stream:
    """The posterior given all rows so far; `update` gives the next one and leaves this as it is.

    Attributes:
        start: the posterior that the stream began with, whose kernel it uses.
        series: all rows so far.
        cloud: weighted particles of z.
        recent: what the kernel needs of the past.
        scores: one-step predictive log-score of every new row; NaN of a missing one.
        distances: how far every new row lies from the region that the kernel was trained on: above 1 it
            is outside.
        refreshes: how often the particles were moved.
        seed: of everything random.
    """

    start: Posterior
    series: Float[np.ndarray, "T d_y"]
    cloud: Cloud
    recent: Recent
    seed: int
    scores: tuple[float, ...] = ()
    distances: tuple[float, ...] = ()
    refreshes: int = 0

    @staticmethod
    def begin(
        posterior: Posterior,
        series: Any,
        *,
        seed: int,
        num_particles: int = 2000,
        sampler: MCMC | None = None,
    ) -> "Stream":
        """Particles of the posterior of a series, by MCMC on its kernel.

        Args:
            posterior: a posterior with a learned kernel.
            series: (T,) or (T, d_y), the rows so far.
            seed: one integer.
            num_particles: how many particles follow the data.
            sampler: how the first ones are drawn.
        """
        kernel = _kernel(posterior)
        rows = check_rows(kernel, as_series(series))
        options = sampler or MCMC(num_draws=1000, min_effective=num_particles, max_extensions=20)
        draws = sample_posterior(jax.random.key(seed), posterior.condition(rows), None, options)
        flat = draws.z.reshape(-1, draws.z.shape[-1])
        particles = spread(np.random.default_rng(seed), flat, num_particles)  # evenly, less noise
        seen = np.isfinite(rows)
        recent = _recent(kernel, np.where(seen, rows, 0.0), seen)
        return Stream(posterior, rows, Cloud.even(particles), recent, seed)

    def update(self, rows: Any) -> "Stream":
        """The posterior after new rows, (d_y,) or (n, d_y), NaN where missing."""
        kernel = _kernel(self.start)
        values = np.atleast_1d(np.asarray(rows, dtype=np.float64))
        values = values[None] if values.ndim == 1 and values.size == self.series.shape[1] else values
        stream = self
        for row in check_rows(kernel, as_series(values, empty=True)):
            stream = stream._one(row)
        outside = [d for d in stream.distances[len(self.distances) :] if d > 1]
        if outside:
            warnings.warn(
                f"{len(outside)} of {len(values)} new rows lie outside the region that the kernel was "
                f"trained on, the furthest at {max(outside):.1f} times its border: see `distances`. "
                f"Infer again on all rows, with simulations where the posterior is now.",
                stacklevel=2,
            )
        return stream

    def _one(self, row: Float[np.ndarray, " d_y"]) -> "Stream":
        seen = np.isfinite(row)
        kernel, dtype = _kernel(self.start), self.cloud.z.dtype
        log_q, distance, recent = _step(
            kernel, self.recent, np.where(seen, row, 0.0).astype(dtype), seen, self.cloud.z
        )
        series = np.concatenate([self.series, row[None]])
        if not seen.all():
            nothing = float("nan")
            return self._next(series, recent, self.cloud, nothing, nothing)
        cloud, score = self.cloud.reweigh(np.asarray(log_q, dtype=np.float64))
        return self._next(series, recent, cloud, score, float(distance))

    def _next(
        self, series: np.ndarray, recent: Recent, cloud: Cloud, score: float, distance: float
    ) -> "Stream":
        refreshes = self.refreshes
        if cloud.effective < REFRESH * len(cloud.z):
            key = jax.random.fold_in(jax.random.key(self.seed), len(series))
            cloud, refreshes = rejuvenate(key, _padded(self.start, series), cloud), refreshes + 1
        return replace(
            self,
            series=series,
            cloud=cloud,
            recent=recent,
            scores=(*self.scores, score),
            distances=(*self.distances, distance),
            refreshes=refreshes,
        )

    @property
    def posterior(self) -> Posterior:
        """The posterior of all rows so far as a function."""
        return self.start.condition(self.series)

    @property
    def log_evidence(self) -> float:
        r"""\(\log q(y_{s+1:t} \mid y_{1:s})\), of the new rows given those before the stream."""
        return float(np.nansum(self.scores))

    def sample(self, num_draws: int = 2000) -> dict[str, np.ndarray]:
        """Draws of theta of equal weight: name to array (1, draw, *event)."""
        rng = np.random.default_rng([self.seed, len(self.series)])
        cumulative = np.cumsum(self.cloud.weights)
        places = (rng.permutation(num_draws) + rng.uniform(size=num_draws)) / num_draws
        index = np.minimum(np.searchsorted(cumulative, places), len(cumulative) - 1)
        return constrained(self.start.prior, self.cloud.z[index][None])


def _kernel(posterior: Posterior) -> Kernel:
    if posterior.kernel is None:
        raise TypeError("This posterior has no learned kernel to stream with: use TSNL.")
    return posterior.kernel


def _padded(start: Posterior, series: Float[np.ndarray, "T d_y"]) -> Posterior:
    """The posterior, its rows filled up to one of few lengths: compiled seldom."""
    missing = -len(series) % CAPACITY
    return start.condition_rows(np.pad(series, ((0, missing), (0, 0)), constant_values=np.nan))


@eqx.filter_jit
def _step(
    kernel: Kernel,
    recent: Recent,
    row: Float[Array | np.ndarray, " d_y"],
    seen: Bool[Array | np.ndarray, " d_y"],
    z: Float[Array | np.ndarray, "n size"],
) -> tuple[Float[Array, " n"], Float[Array, ""], Recent]:
    """Log-density of a row at every particle, its distance from the region, and the past with it."""
    y = kernel.scaling.standardise(jnp.asarray(row))
    one = jax.tree.map(lambda x: x[None], recent.context())
    context = jax.tree.map(lambda x: jnp.broadcast_to(x, (len(z), *x.shape[1:])), one)
    log_q = kernel.log_probs(
        jnp.broadcast_to(y, (len(z), len(y))), context, kernel.scaling.standardise_z(jnp.asarray(z))
    )
    log_q += jnp.sum(kernel.scaling.log_jacobian(jnp.asarray(row)))
    return log_q, kernel.region.distance(y[None], one)[0], recent.push(y, jnp.asarray(seen))


@eqx.filter_jit
def _recent(
    kernel: Kernel, rows: Float[Array | np.ndarray, "T d_y"], seen: Bool[Array | np.ndarray, "T d_y"]
) -> Recent:
    y = kernel.scaling.standardise(jnp.asarray(rows, dtype=float))
    return Recent.of(y, jnp.asarray(seen), kernel.past)
