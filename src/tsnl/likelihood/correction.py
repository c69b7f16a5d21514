r"""What a better likelihood says beyond a learned one, as a smooth function of theta.

The log-likelihood of the observed series by a particle filter is known at some points, with noise. Its
difference from the learned log-likelihood is smooth over the posterior, and is learned by Gaussian
process regression: a quadratic polynomial with a wide prior, and a smooth rest whose size and length are
those of largest marginal likelihood. A posterior from it costs no further filter runs, and the noise of
single runs averages out (Wilkinson 2014, "Accelerating ABC methods using Gaussian processes").
"""

from itertools import product

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsnl.likelihood.completion import terms

SLOPE, BEND = 20.0, 5.0  # prior sds of linear and quadratic terms, in nats for one posterior sd
LENGTHS = (1.5, 2.5, 4.0)  # of the smooth rest, in posterior sds
SIZES = (0.0, 0.5, 1.5, 5.0)  # its sds, in nats
NOISES = (0.7, 1.0, 1.5, 2.5)  # sds of a value, over what the filter's own variance says
EDGE = 0.99  # share of the points within the reach of what they say


class Correction(eqx.Module):
    """A smooth function of an unconstrained z, in nats.

    Attributes:
        centre, whiten: of the posterior as it was known: its mean, and what makes its covariance one.
        weights: of one, of each entry of the whitened z, and of each product of two.
        points, values: centres of the smooth rest, and what each adds.
        length: over which it falls off.
        reach: distance from the centre, whitened, beyond which there are next to no points.
    """

    centre: Float[Array, " size"]
    whiten: Float[Array, "size size"]
    weights: Float[Array, " terms"]
    points: Float[Array, "n size"]
    values: Float[Array, " n"]
    length: Float[Array, ""]
    reach: Float[Array, ""]

    def __call__(self, z: Float[Array, " size"]) -> Float[Array, ""]:
        """At z; beyond its reach it says what it says at the border, and less the further out.

        The points cover what a better likelihood leaves of the posterior. Beyond them the learned one is
        not to be trusted with a mode of its own.
        """
        far = self.whiten @ (z - self.centre)
        x = within(far, self.reach)
        square = jnp.sum((x - self.points) ** 2, axis=1)
        rest = jnp.exp(-0.5 * square / self.length**2) @ self.values
        out = jnp.maximum(jnp.sqrt(jnp.sum(far * far) + 1e-12) - self.reach, 0.0)
        return jnp.asarray(terms(x)) @ self.weights + rest - 0.5 * out**2

    def beyond(self, z: Float[np.ndarray, "n size"]) -> float:
        """Share of points that are beyond its reach."""
        x = (z - np.asarray(self.centre)) @ np.asarray(self.whiten).T
        return float((np.linalg.norm(x, axis=1) > float(self.reach)).mean())


def within(
    x: Float[Array | np.ndarray, "*n size"], reach: float | Float[Array, ""]
) -> Float[Array | np.ndarray, "*n size"]:
    """The identity in a ball, and its border beyond, smoothly."""
    xp = np if isinstance(x, np.ndarray) else jnp
    far = xp.sqrt(xp.sum(x * x, axis=-1, keepdims=True) + 1e-12) / reach
    return x * (1 + far**8) ** -0.125


def fit_correction(
    z: Float[np.ndarray, "n size"],
    values: Float[np.ndarray, " n"],
    noise: Float[np.ndarray, " n"],
    centre: Float[np.ndarray, " size"],
    covariance: Float[np.ndarray, "size size"],
    capacity: int,
) -> Correction:
    """Learn it from its values, with noise, at some points.

    Args:
        z: the points.
        values: what was found there.
        noise: sd of each value, up to a factor that is found here.
        centre: of about the posterior.
        covariance: its own.
        capacity: points that there is to be room for: one shape, however many there are.
    """
    whiten = np.linalg.inv(np.linalg.cholesky(covariance))
    x = (z - centre) @ whiten.T
    reach = float(np.quantile(np.linalg.norm(x, axis=1), EDGE))
    x = within(x, reach)
    level = np.average(values, weights=noise**-2.0)
    basis, target = np.asarray(terms(x)), values - level
    size = z.shape[1]
    spread = np.concatenate([[SLOPE], np.full(size, SLOPE), np.full(basis.shape[1] - 1 - size, BEND)])
    square = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    parametric = (basis * spread**2) @ basis.T
    best = -np.inf, np.zeros(len(z)), 0.0, LENGTHS[0]
    for sd, length, factor in product(SIZES, LENGTHS, NOISES):
        if sd == 0 and length != LENGTHS[0]:
            continue  # there is nothing that could have a length
        gram = parametric + sd**2 * np.exp(-0.5 * square / length**2)
        root = np.linalg.cholesky(gram + np.diag((factor * noise) ** 2))
        half = np.linalg.solve(root, target)
        evidence = -0.5 * half @ half - np.log(np.diag(root)).sum()
        if evidence > best[0]:
            best = evidence, np.linalg.solve(root.T, half), sd, length
    _, found, sd, length = best
    weights = spread**2 * (basis.T @ found)
    weights[0] += level
    more = capacity - len(z)
    rest = np.pad(x, ((0, more), (0, 0))), np.pad(sd**2 * found, (0, more)), length
    dtype = jnp.result_type(float)
    arrays = (centre, whiten, weights, *rest, reach)
    return Correction(*(jnp.asarray(np.asarray(one, dtype=dtype)) for one in arrays))
