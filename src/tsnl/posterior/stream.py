r"""A posterior that follows its data: weighted particles of theta, moved by one factor for each new row.

.. math::
    w_i \leftarrow w_i \, q(y_{t+1} \mid \text{past}_{t+1}, \theta_i),

with resampling and Metropolis steps on all rows so far when the effective sample size falls below half
(iterated batch importance sampling; Chopin, 2002). A row costs the same however long the series is.
"""

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from tsnl.kernel.fitted import Kernel, predict_row
from tsnl.kernel.memory.base import State
from tsnl.posterior.base import Posterior, sample_posterior
from tsnl.posterior.overlap import count_known
from tsnl.posterior.refresh import (
    collapsed,
    coordinates_of,
    mark_of,
    padded,
    quantiles,
    redraw,
)
from tsnl.problem.draws import constrained
from tsnl.problem.series import as_rows
from tsnl.runtime.checked import whole_number
from tsnl.runtime.reader import remedy
from tsnl.runtime.seeds import key_of
from tsnl.sampling.mcmc import MCMC
from tsnl.sampling.smc import Cloud, rejuvenate
from tsnl.sampling.spread import spread
from tsnl.store.files import read_npz, write_npz

REFRESH = 0.5  # effective share of the particles below which they are moved


@dataclass(frozen=True)
class Stream:
    """The posterior given all rows so far; `update` gives the next one and leaves this as it is.

    Attributes:
        start: the posterior that the stream began with, whose kernel it uses.
        series: all rows so far.
        inputs: their known inputs; no columns where there are none.
        cloud: weighted particles of z.
        coordinates: the particles as free entries of theta.
        memory: what the kernel keeps of the past.
        seed: of everything random.
        scores: one-step predictive log-score of every new row; NaN of a missing one.
        distances: how far every new row lies from the region that the kernel was trained on: above 1 it
            is outside.
        bands: quantiles of the coordinates, at `LEVELS`, at the start and after every new row.
        refreshes: how often the particles were moved.
        redrawn: numbers of the rows, from 0, after which hardly a particle had a weight left, and all
            were drawn anew by MCMC.
    """

    start: Posterior
    series: Float[np.ndarray, "T d_y"]
    inputs: Float[np.ndarray, "T d_u"]
    cloud: Cloud
    coordinates: Float[np.ndarray, "particle size"]
    memory: State
    seed: int
    scores: tuple[float, ...] = ()
    distances: tuple[float, ...] = ()
    bands: tuple[Float[np.ndarray, "level size"], ...] = ()
    refreshes: int = 0
    redrawn: tuple[int, ...] = ()

    @staticmethod
    def begin(
        posterior: Posterior,
        series: Any,
        inputs: Any = None,
        *,
        seed: int,
        num_particles: int = 2000,
        sampler: MCMC | None = None,
    ) -> "Stream":
        """Particles of the posterior of a series, by MCMC on its kernel.

        Chains start at the posterior's own draws, where it has some, else at draws of the prior.

        Args:
            posterior: a posterior with a learned kernel.
            series: (T,) or (T, d_y), the rows so far.
            inputs: their known inputs, where the kernel learned with some.
            seed: one integer.
            num_particles: how many particles follow the data.
            sampler: how the first ones are drawn.
        """
        kernel, num_particles = _kernel(posterior), whole_number("num_particles", num_particles, 2)
        rows = kernel.check_series(as_rows(series))
        known = kernel.check_inputs(inputs, [len(rows)])
        options = sampler or MCMC(num_draws=1000, min_ess=num_particles, max_extensions=20)
        now, points, covariance = posterior.given((rows,), known), None, None
        if posterior.z is not None:
            points = posterior.z.reshape(-1, posterior.z.shape[-1])
            covariance = np.atleast_2d(np.cov(points.T))
        draws = sample_posterior(key_of(seed), now, points, options, covariance)
        flat = draws.z.reshape(-1, draws.z.shape[-1])
        cloud = Cloud.even(spread(np.random.default_rng(seed), flat, num_particles))
        points = coordinates_of(posterior, cloud)
        u = np.zeros((len(rows), 0)) if known is None else known[0]
        bands = (quantiles(points, cloud.weights),)
        memory = kernel.remember(rows, u)
        return Stream(posterior, rows, u, cloud, points, memory, seed, bands=bands)

    def update(self, rows: Any, inputs: Any = None) -> "Stream":
        """The posterior after new rows, (d_y,) or (n, d_y), NaN where missing, under their inputs.

        Raises:
            ValueError: the rows do not fit, or begin with rows that are known already.
        """
        kernel = _kernel(self.start)
        values = as_rows(rows, empty=True) if np.ndim(rows) else np.reshape(rows, (1, 1))
        if np.ndim(rows) == 1 and values.size == self.series.shape[1]:  # (d_y,) is one row
            values = values.reshape(1, -1)
        checked = kernel.check_series(as_rows(values, empty=True))
        known_rows = count_known(self.series, checked)
        if known_rows:
            raise ValueError(
                f"The first {known_rows} of the {len(checked)} rows are known already, up to the end of "
                f"the series: give rows[{known_rows}:] alone. If they came again by chance, give them "
                f"one by one."
            )
        if inputs is not None and len(checked) == 1:  # (d_u,), as (d_y,) of one row
            inputs = np.reshape(inputs, (1, -1))
        known = kernel.check_inputs(inputs, [len(checked)])
        stream = self
        for i, row in enumerate(checked):
            stream = stream._one(row, np.zeros(0) if known is None else known[0][i])
        outside = [d for d in stream.distances[len(self.distances) :] if d > 1]
        if outside:
            warnings.warn(
                f"{len(outside)} of {len(values)} new rows lie outside the region that the kernel was "
                f"trained on, the furthest at {max(outside):.1f} times its border. Simulate where the "
                f"posterior is now: {_how_to_refine()}.",
                stacklevel=2,
            )
        return stream

    def _one(self, row: Float[np.ndarray, " d_y"], u: Float[np.ndarray, " d_u"]) -> "Stream":
        seen = np.isfinite(row)
        kernel, dtype = _kernel(self.start), self.cloud.z.dtype
        given = row.astype(dtype), u.astype(dtype), np.asarray(len(self.series))
        log_q, far, memory = predict_row(kernel, self.memory, *given, self.cloud.z)
        series = np.concatenate([self.series, row[None]])
        inputs = np.concatenate([self.inputs, u[None]])
        cloud, score, distance = self.cloud, float("nan"), float("nan")
        if seen.all():
            cloud, score = self.cloud.reweigh(np.asarray(log_q, dtype=np.float64))
            distance = float(far)
        points, refreshes, redrawn = self.coordinates, self.refreshes, self.redrawn
        if cloud.ess < REFRESH * len(cloud.z):
            key = jax.random.fold_in(key_of(self.seed), len(series))
            target = padded(self.start, series, inputs)
            if collapsed(cloud):
                cloud, redrawn = redraw(key, target, self.cloud, cloud.ess), (*redrawn, len(series) - 1)
            else:
                cloud = rejuvenate(key, target, cloud)
            points, refreshes = coordinates_of(self.start, cloud), refreshes + 1
        return replace(
            self,
            series=series,
            inputs=inputs,
            cloud=cloud,
            coordinates=points,
            memory=memory,
            scores=(*self.scores, score),
            distances=(*self.distances, distance),
            bands=(*self.bands, quantiles(points, cloud.weights)),
            refreshes=refreshes,
            redrawn=redrawn,
        )

    @property
    def posterior(self) -> Posterior:
        """The posterior of all rows so far as a function."""
        known = (self.inputs,) if self.inputs.shape[1] else None
        return self.start.given((self.series,), known)

    @property
    def log_evidence(self) -> float:
        r"""\(\log q(y_{s+1:t} \mid y_{1:s})\), of the new rows given those before the stream."""
        return float(np.nansum(self.scores))

    def draw(self, num_draws: int) -> Float[np.ndarray, "draw size"]:
        """Draws of z of equal weight, in no order."""
        rng = np.random.default_rng([self.seed, len(self.series)])
        cumulative = np.cumsum(self.cloud.weights)
        places = (rng.permutation(num_draws) + rng.uniform(size=num_draws)) / num_draws
        return self.cloud.z[np.minimum(np.searchsorted(cumulative, places), len(cumulative) - 1)]

    def sample(self, num_draws: int = 2000) -> dict[str, np.ndarray]:
        """Draws of theta of equal weight: name to array (1, draw, *event)."""
        return constrained(self.start.prior, self.draw(num_draws)[None])

    def save(self, path: str | Path) -> None:
        """Write one npz file: everything but the posterior that the stream began with."""
        names = ("series", "inputs", "coordinates", "scores", "distances", "bands", "refreshes")
        arrays: dict[str, Any] = {name: np.asarray(getattr(self, name)) for name in names}
        arrays |= {"z": self.cloud.z, "log_weights": self.cloud.log_weights, "seed": str(self.seed)}
        arrays |= {"redrawn": np.array(self.redrawn, dtype=np.int64)}
        arrays |= {"kernel": mark_of(_kernel(self.start))}
        leaves = jax.tree.leaves(self.memory)
        arrays |= {f"memory.{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
        write_npz(path, arrays)

    @staticmethod
    def load(path: str | Path, posterior: Posterior) -> "Stream":
        """Read what `save` wrote, for the posterior that the stream began with.

        Raises:
            ValueError: it is damaged, or of another kernel than the posterior's.
        """
        found, kernel = read_npz(path), _kernel(posterior)
        if str(found["kernel"]) != mark_of(kernel):
            raise ValueError(
                f"{path} is of another kernel than this posterior's: give the one it is of."
            )
        nothing = np.zeros((0, kernel.spec.d_y)), np.zeros((0, kernel.spec.d_u))
        places, tree = jax.tree.flatten(kernel.remember(*nothing))
        leaves = [jnp.asarray(found[f"memory.{i}"]) for i in range(len(places))]
        return Stream(
            posterior,
            found["series"],
            found["inputs"],
            Cloud(found["z"], found["log_weights"]),
            found["coordinates"],
            jax.tree.unflatten(tree, leaves),
            int(str(found["seed"])),
            tuple(found["scores"].tolist()),
            tuple(found["distances"].tolist()),
            tuple(found["bands"]),
            int(found["refreshes"]),
            tuple(found["redrawn"].tolist()),
        )


def _how_to_refine() -> str:
    return remedy(
        python="result.refine(stream, simulations=..., seed=...); see `distances`",
        command="tsnl refine RUN-updated --model FILE",
    )


def _kernel(posterior: Posterior) -> Kernel:
    if posterior.kernel is None:
        raise TypeError("This posterior has no learned kernel to stream with: use TSNL.")
    return posterior.kernel
