"""Where the rows lie that a kernel was trained on."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsnl.kernel.heads.base import Groups

ROWS = 4096  # that describe the region, at most
INSIDE = 0.999  # share of them that is inside


class Region(eqx.Module):
    r"""An ellipsoid around rows of the training set and their features, in standardised units.

    Features that do not tell where rows lie are left out (see `Group`).

    Attributes:
        centre: mean.
        whiten: L^{-T} of the covariance L L^T.
        limit: Mahalanobis distance within which all but a thousandth of the rows lie.
    """

    centre: Float[Array, " F"]
    whiten: Float[Array, "F F"]
    limit: Float[Array, ""]

    @staticmethod
    def of(
        y: Float[Array | np.ndarray, "n d_y"], features: Float[Array | np.ndarray, "n F"], groups: Groups
    ) -> "Region":
        """The region of some rows."""
        points = np.asarray(_points(jnp.asarray(y), jnp.asarray(features), groups), np.float64)
        centre = points.mean(axis=0)
        covariance = np.atleast_2d(np.cov(points.T))
        ridge = 1e-4 + 1e-10 * np.trace(covariance)  # fewer points than columns, or wild ones
        covariance = covariance + ridge * np.eye(len(centre))
        whiten = np.linalg.inv(np.linalg.cholesky(covariance)).T
        distance = np.linalg.norm((points - centre) @ whiten, axis=1)
        figures = centre, whiten, np.quantile(distance, INSIDE)
        return Region(*(jnp.asarray(np.asarray(x, jnp.result_type(float))) for x in figures))

    @staticmethod
    def unknown(d_y: int, groups: Groups) -> "Region":
        """A region of the right shapes that holds everything."""
        size = d_y + int(_located(groups).sum())
        return Region(jnp.zeros(size), jnp.zeros((size, size)), jnp.ones(()))

    def distance(
        self, y: Float[Array, "n d_y"], features: Float[Array, "n F"], groups: Groups
    ) -> Float[Array, " n"]:
        """How far out rows lie: 1 on the border, more beyond."""
        white = (_points(y, features, groups) - self.centre) @ self.whiten
        return jnp.sqrt(jnp.sum(white**2, axis=1)) / self.limit


def _points(
    y: Float[Array, "n d_y"], features: Float[Array, "n F"], groups: Groups
) -> Float[Array, "n points"]:
    return jnp.concatenate([y, features[:, _located(groups)]], axis=1)


def _located(groups: Groups) -> np.ndarray:
    """Which features tell where rows lie."""
    parts = [np.full(len(group.mean_sd), group.located) for group in groups]
    return np.concatenate([np.zeros(0, bool), *parts])
