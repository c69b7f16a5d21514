r"""The state as data arrive: a particle filter for each of some draws of theta, beside a `Stream`.

.. math::
    p(x_t \mid y_{1:t}) = \int p(x_t \mid y_{1:t}, \theta) \, p(\theta \mid y_{1:t}) \, d\theta.

The stream gives the law of theta; a nested filter at each theta gives that of the state. A row costs the
same however long the series is. When the thetas at hand no longer stand for the stream, others are drawn
from it and their filters run through the whole series.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from tsnl.kernel.fitted import predict_row
from tsnl.likelihood.particle import advance, bootstrap, require_filterable, whole_rows
from tsnl.models.base import StateSpaceModel, Theta, observation_shape
from tsnl.posterior import Posterior, Stream
from tsnl.predict.draws import each_draw
from tsnl.predict.states import LEVELS, columns, state_labels
from tsnl.runtime.checked import check_levels
from tsnl.runtime.seeds import key_of
from tsnl.sampling.smc import Cloud
from tsnl.store.files import read_npz, write_npz

FEWEST = 0.5  # effective share of the thetas below which they are drawn anew
GRID = tuple(np.linspace(0.01, 0.99, 99).round(2).tolist())  # quantiles that are remembered


class Filters(eqx.Module):
    """Weighted particles of the state, for each draw of theta."""

    particles: PyTree
    weights: Float[Array, "draw num_particles"]


@dataclass(frozen=True)
class Track:
    """The law of the state now; `update` gives the next one and leaves this as it is.

    Attributes:
        model: a model with `log_observation`.
        stream: the posterior of theta.
        cloud: draws of z from it, with the weights of the rows since.
        filters: their particles.
        bands: quantiles of the state, 1 % to 99 %, after the first rows and after every new one.
        means: its means at the same times.
        reruns: how often new thetas were drawn.
    """

    model: StateSpaceModel
    stream: Stream
    cloud: Cloud
    filters: Filters
    bands: tuple[Float[np.ndarray, "99 d_x"], ...]
    means: tuple[Float[np.ndarray, " d_x"], ...]
    reruns: int = 0

    @staticmethod
    def begin(model: StateSpaceModel, stream: Stream, num_draws: int, num_particles: int) -> "Track":
        """Filters at draws of a stream's theta, through all rows so far; see `Result.track`."""
        require_filterable(model)
        if min(num_draws, num_particles) < 2:
            raise ValueError(
                f"num_draws is {num_draws} and num_particles {num_particles}: at least 2 of each."
            )
        cloud, filters = _run(model, stream, num_draws, num_particles)
        return Track(model, stream, cloud, filters, (), ())._noted()

    def update(self, rows: Any, inputs: Any = None) -> "Track":
        """The state after new rows, (d_y,) or (n, d_y), under their inputs; a row of NaN is missing."""
        values = np.atleast_1d(np.asarray(rows, dtype=np.float64))
        values = values.reshape(-1, self.stream.series.shape[1])
        known = [None] * len(values) if inputs is None else np.reshape(inputs, (len(values), -1))
        whole_rows(self.model, values, None if inputs is None else known, empty=True)
        track = self
        for row, u in zip(values, known, strict=True):
            track = track._one(row, u)
        return track

    def _one(self, row: Float[np.ndarray, " d_y"], u: Float[np.ndarray, " d_u"] | None) -> "Track":
        old, stream = self.stream, self.stream.update(row[None], None if u is None else u[None])
        kernel = stream.start.kernel
        assert kernel is not None
        cloud, dtype = self.cloud, self.cloud.z.dtype
        if np.isfinite(row).all():
            given = (row.astype(dtype), stream.inputs[-1].astype(dtype), np.asarray(len(old.series)))
            log_q = predict_row(kernel, old.memory, *given, cloud.z)[0]
            cloud, _ = cloud.reweigh(np.asarray(log_q, dtype=np.float64))
        num_draws, num_particles = self.filters.weights.shape
        if stream.refreshes > old.refreshes or cloud.ess < FEWEST * num_draws:
            cloud, filters = _run(self.model, stream, num_draws, num_particles)
            changed = replace(self, cloud=cloud, filters=filters, reruns=self.reruns + 1)
        else:
            shape = observation_shape(self.model, None if u is None else u[None])
            y = jnp.asarray(row.reshape(shape), dtype=float)
            theta = {k: jnp.asarray(v) for k, v in stream.start.prior.constrain_all(cloud.z).items()}
            known = None if u is None else jnp.asarray(u, dtype=float)
            time = jnp.asarray(len(stream.series))
            key = jax.random.fold_in(key_of(stream.seed), 1)
            filters = _advance(key, self.model, theta, self.filters, time, y, known)
            changed = replace(self, cloud=cloud, filters=filters)
        return replace(changed, stream=stream)._noted()

    def _noted(self) -> "Track":
        """With the law of the state as it is now."""
        weights = self.cloud.weights[:, None] * np.asarray(self.filters.weights, dtype=np.float64)
        flat, weights = columns(self.filters.particles, 2), weights.ravel()
        flat = flat.reshape(len(weights), -1)
        alive = np.isfinite(flat).all(axis=1) & (weights > 0)
        flat, weights = flat[alive], weights[alive] / weights[alive].sum()
        band = np.quantile(flat, GRID, axis=0, weights=weights, method="inverted_cdf")
        return replace(self, bands=(*self.bands, band), means=(*self.means, weights @ flat))

    @property
    def labels(self) -> tuple[str, ...]:
        """Of the entries of the state."""
        return state_labels(self.model)

    def mean(self) -> Float[np.ndarray, "t d_x"]:
        """E[x_t | y_1..y_t] at the end of the first rows and after every new one."""
        return np.stack(self.means)

    def quantiles(self, levels: Sequence[float] = LEVELS) -> Float[np.ndarray, "level t d_x"]:
        """Quantiles of the state at the same times, levels of whole per cents from 1 to 99."""
        given = [round(level, 2) for level in check_levels(levels)]
        if not set(given) <= set(GRID):
            raise ValueError(f"levels is {levels!r}, expected whole per cents from 0.01 to 0.99.")
        places = [GRID.index(level) for level in given]
        return np.stack(self.bands, axis=1)[places]

    def plot(self, path: str | Path | None = None, *, dark: bool = False) -> Any:
        """Bands of the state as data arrived; a matplotlib figure."""
        from tsnl.show.plots import saved, states_figure

        return saved(states_figure(self, dark=dark), path)

    def save(self, folder: str | Path) -> None:
        """Write `stream.npz` and `track.npz` into a folder."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        self.stream.save(place / "stream.npz")
        leaves = jax.tree.leaves(self.filters)
        arrays: dict[str, Any] = {f"filters.{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
        arrays |= {"z": self.cloud.z, "log_weights": self.cloud.log_weights, "reruns": self.reruns}
        arrays |= {"bands": np.stack(self.bands), "means": np.stack(self.means)}
        write_npz(place / "track.npz", arrays)

    @staticmethod
    def load(folder: str | Path, model: StateSpaceModel, posterior: Posterior) -> "Track":
        """Read what `save` wrote, for the model and posterior that it began with."""
        stream = Stream.load(Path(folder) / "stream.npz", posterior)
        found = read_npz(Path(folder) / "track.npz")
        state = jax.eval_shape(
            lambda key: model.sample_initial(key, model.complete()), jax.random.key(0)
        )
        places, tree = jax.tree.flatten(state)
        leaves = [jnp.asarray(found[f"filters.{i}"]) for i in range(len(places) + 1)]
        filters = Filters(jax.tree.unflatten(tree, leaves[:-1]), leaves[-1])
        cloud = Cloud(found["z"], found["log_weights"])
        bands, means = tuple(found["bands"]), tuple(found["means"])
        return Track(model, stream, cloud, filters, bands, means, int(found["reruns"]))


class FilterLaw(eqx.Module):
    """The particles at the end of a series, given theta."""

    model: StateSpaceModel
    rows: Float[Array, "T ..."]
    inputs: Float[Array, "T d_u"] | None
    num_particles: int = eqx.field(static=True)

    def __call__(self, key: Key[Array, ""], theta: Theta) -> tuple[PyTree, Array]:
        """Run the filter."""
        model = require_filterable(self.model)
        found = bootstrap(key, model, theta, self.rows, self.num_particles, self.inputs)
        return found.particles, found.weights


def _run(
    model: StateSpaceModel, stream: Stream, num_draws: int, num_particles: int
) -> tuple[Cloud, Filters]:
    """Draws of theta of equal weight, and their filters through all rows so far."""
    z = stream.draw(num_draws)
    known = jnp.asarray(stream.inputs, dtype=float) if stream.inputs.shape[1] else None
    law = FilterLaw(model, whole_rows(model, stream.series, known), known, num_particles)
    key = jax.random.fold_in(key_of(stream.seed), 2)
    key = jax.random.fold_in(key, len(stream.series))
    particles, weights = each_draw(key, law, stream.start.prior.constrain_all(z))
    filters = Filters(jax.tree.map(jnp.asarray, particles), jnp.asarray(weights))
    return Cloud.even(z), filters


@eqx.filter_jit
def _advance(
    key: Key[Array, ""],
    model: StateSpaceModel,
    theta: dict[str, Array],
    filters: Filters,
    time: Array,
    y: Array,
    u: Array | None,
) -> Filters:
    """Every filter by one row."""
    filterable = require_filterable(model)

    def one(i: Array, row: dict[str, Array], particles: PyTree, weights: Array) -> tuple[PyTree, Array]:
        own = jax.random.fold_in(key, i)
        whole = filterable.complete(row)
        moved, _ = advance(own, filterable, whole, particles, weights, time, y, u)
        return moved.particles, moved.weights

    index = jnp.arange(filters.weights.shape[0])
    return Filters(*jax.vmap(one)(index, theta, filters.particles, filters.weights))
