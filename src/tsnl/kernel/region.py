"""Where the windows lie that a kernel was trained on."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from tsnl.kernel.memory import Context, Past, Windows, pick_evenly

ROWS = 4096  # windows that describe the region, at most
INSIDE = 0.999  # share of them that is inside


class Region(eqx.Module):
    r"""An ellipsoid around the windows of the training set, in standardised units.

    Attributes:
        centre: mean of (y, lags, summaries, inputs).
        whiten: L^{-T} of their covariance L L^T.
        limit: Mahalanobis distance within which all but a thousandth of the windows lie.
    """

    centre: Float[Array, " F"]
    whiten: Float[Array, "F F"]
    limit: Float[Array, ""]

    @staticmethod
    def of(windows: Windows, use: Bool[np.ndarray, "N T"]) -> "Region":
        """The region of the windows in use."""
        points = np.asarray(_some_points(windows, use), np.float64)
        centre = points.mean(axis=0)
        covariance = np.atleast_2d(np.cov(points.T))
        ridge = 1e-4 + 1e-10 * np.trace(covariance)  # fewer points than columns, or wild ones
        covariance = covariance + ridge * np.eye(len(centre))
        whiten = np.linalg.inv(np.linalg.cholesky(covariance)).T
        distance = np.linalg.norm((points - centre) @ whiten, axis=1)
        figures = centre, whiten, np.quantile(distance, INSIDE)
        return Region(*(jnp.asarray(np.asarray(x, jnp.result_type(float))) for x in figures))

    @staticmethod
    def unknown(d_y: int, past: Past) -> "Region":
        """A region of the right shapes that holds everything."""
        size = d_y + d_y * past.lag + past.num_far(d_y) + past.num_known
        return Region(jnp.zeros(size), jnp.zeros((size, size)), jnp.ones(()))

    def distance(self, y: Float[Array, "n d_y"], context: Context) -> Float[Array, " n"]:
        """How far out windows lie: 1 on the border, more beyond."""
        white = (_points(y, context) - self.centre) @ self.whiten
        return jnp.sqrt(jnp.sum(white**2, axis=1)) / self.limit


def _points(y: Float[Array, "n d_y"], context: Context) -> Float[Array, "n F"]:
    parts = y, context.lags.reshape(len(y), -1), context.far, context.inputs
    return jnp.concatenate(parts, axis=1)


@eqx.filter_jit
def _some_points(windows: Windows, use: Bool[Array | np.ndarray, "N T"]) -> Float[Array, "n F"]:
    counts = jnp.cumsum(jnp.asarray(use).ravel(), dtype=jnp.int32)
    index = pick_evenly(counts, min(ROWS, use.size))
    return _points(*windows.take(index // use.shape[1], index % use.shape[1]))
