r"""The probability that a simulation does not fail, given theta.

A series that was observed did not fail: the likelihood of what was seen is

.. math::
    p(y, \text{ok} \mid \theta) = p(y \mid \text{ok}, \theta) \, P(\text{ok} \mid \theta),

and a density that is learned from simulations that did not fail is the first factor alone.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from scipy.special import expit

SPREAD_LINEAR, SPREAD_QUADRATIC = 2.5, 1.0  # prior sds of the weights, for standardised z


class Completion(eqx.Module):
    r"""\(\log P(\text{ok} \mid \theta)\): logistic regression on linear and quadratic terms of z.

    Attributes:
        mean, scale: of z over all simulations, which standardise it.
        weights: of one, of each entry of z, and of each product of two entries.
    """

    mean: Float[Array, " size"]
    scale: Float[Array, " size"]
    weights: Float[Array, " terms"]

    @staticmethod
    def of(z: Float[np.ndarray, "n size"], ok: Bool[np.ndarray, " n"]) -> "Completion | None":
        """Learn it from all simulations of a run; None where none failed, or all did."""
        if ok.all() or not ok.any():
            return None
        mean, scale = z.mean(axis=0), z.std(axis=0) + 1e-6
        weights = fit(np.asarray(terms((z - mean) / scale)), ok.astype(float), precisions(z.shape[1]))
        dtype = jnp.result_type(float)
        return Completion(*(jnp.asarray(x, dtype=dtype) for x in (mean, scale, weights)))

    def __call__(self, z: Float[Array, " size"]) -> Float[Array, ""]:
        """The log-probability at an unconstrained z."""
        return jax.nn.log_sigmoid(terms((z - self.mean) / self.scale) @ self.weights)


def terms(z: Float[Array | np.ndarray, "*n size"]) -> Float[Array | np.ndarray, "*n terms"]:
    """One, the entries of z, and the products of any two."""
    rows, columns = np.triu_indices(z.shape[-1])
    xp = np if isinstance(z, np.ndarray) else jnp
    return xp.concatenate([xp.ones_like(z[..., :1]), z, z[..., rows] * z[..., columns]], axis=-1)


def precisions(size: int) -> Float[np.ndarray, " terms"]:
    """Of the Gaussian prior of each weight; none for the constant."""
    num_products = size * (size + 1) // 2
    spreads = [SPREAD_LINEAR] * size + [SPREAD_QUADRATIC] * num_products
    return np.concatenate([[0.0], np.array(spreads) ** -2.0])


def fit(
    x: Float[np.ndarray, "n terms"], y: Float[np.ndarray, " n"], precision: Float[np.ndarray, " terms"]
) -> Float[np.ndarray, " terms"]:
    """The most probable weights, by Newton's method in a trust region."""
    from scipy.optimize import minimize  # here: slow to import

    def loss(w: np.ndarray) -> float:
        return float(np.sum(np.logaddexp(0.0, x @ w) - y * (x @ w)) + 0.5 * np.sum(precision * w**2))

    def gradient(w: np.ndarray) -> np.ndarray:
        return x.T @ (expit(x @ w) - y) + precision * w

    def curvature(w: np.ndarray) -> np.ndarray:
        p = expit(x @ w)
        return (x * (p * (1 - p))[:, None]).T @ x + np.diag(precision)

    start, options = np.zeros(x.shape[1]), {"gtol": 1e-8}
    return minimize(loss, start, jac=gradient, hess=curvature, method="trust-exact", options=options).x
