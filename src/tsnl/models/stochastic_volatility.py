"""The multivariate stochastic volatility model."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Key

from tsnl.models.arrays import (
    Parameter,
    apply,
    check_covariance,
    common_size,
    factor,
    log_normal,
    matrix,
    parameter,
    vector,
)
from tsnl.models.base import StateSpaceModel, Theta
from tsnl.store.registry import register


@register
class StochasticVolatility(StateSpaceModel):
    r"""Coupled assets whose log-volatilities follow a linear process.

    .. math::
        x_0 \sim N(\mu_0, \Sigma_0), \quad
        x_t = A x_{t-1} + b + q_t, \; q_t \sim N(0, Q), \quad
        y_t = d + \Sigma_t^{1/2} r_t, \; r_t \sim N(0, R),

    with \(\Sigma_t = D_t C D_t\), \(D_t = \mathrm{diag}(e^{x_t / 2})\) and C a correlation matrix. The
    root is \(\Sigma_t^{1/2} = D_t \, \mathrm{chol}(C)\), so y_t has covariance \(\Sigma_t\) at R = I.
    """

    A: Parameter = parameter(0.9)
    b: Parameter = parameter(0.0)
    d: Parameter = parameter(0.0)
    C: Parameter = parameter([[1.0, 0.52], [0.52, 1.0]])
    Q: Parameter = parameter(0.1)
    R: Parameter = parameter(1.0)
    mu_0: Parameter = parameter(0.0)
    Sigma_0: Parameter = parameter(1.0)

    def __check_init__(self) -> None:
        for name in ("C", "Q", "R", "Sigma_0"):
            check_covariance(name, getattr(self, name))
        if not isinstance(self.C, jax.Array) and not np.allclose(np.diag(np.atleast_2d(self.C)), 1.0):
            raise ValueError(
                f"C = {self.C.tolist()} is no correlation matrix: its diagonal must be 1. Scales belong "
                f"in b (the mean log-variance) or R."
            )
        _ = self.size

    @property
    def size(self) -> int:
        """Number of assets, of the state and of the observation."""
        return common_size("dimension", {name: v.shape for name, v in self.parameters.items()})

    def sample_initial(self, key: Key[Array, ""], theta: Theta) -> Float[Array, " size"]:
        """x_0 ~ N(mu_0, Sigma_0)."""
        noise = apply(factor(theta["Sigma_0"]), jax.random.normal(key, (self.size,)))
        return vector(theta["mu_0"], self.size) + noise

    def sample_transition(
        self, key: Key[Array, ""], state: Array, theta: Theta, t: ArrayLike, u: Any
    ) -> Float[Array, " size"]:
        """x_t ~ N(A x_{t-1} + b, Q)."""
        noise = apply(factor(theta["Q"]), jax.random.normal(key, (self.size,)))
        return apply(theta["A"], state) + vector(theta["b"], self.size) + noise

    def sample_observation(
        self, key: Key[Array, ""], state: Array, theta: Theta, t: ArrayLike, u: Any
    ) -> Float[Array, " size"]:
        """y_t = d + D_t chol(C) r_t."""
        noise = self._root(theta) @ jax.random.normal(key, (self.size,))
        return vector(theta["d"], self.size) + jnp.exp(state / 2) * noise

    def log_observation(
        self, y: Array, state: Array, theta: Theta, t: ArrayLike, u: Any
    ) -> Float[Array, ""]:
        r"""Log N(y_t | d, D_t K K^T D_t), K = chol(C) chol(R); D_t enters by change of variables."""
        residual = (y - vector(theta["d"], self.size)) * jnp.exp(-state / 2)
        return log_normal(residual, self._root(theta)) - jnp.sum(state) / 2

    def _root(self, theta: Theta) -> Float[Array, "size size"]:
        """Lower triangular chol(C) chol(R): the same for all particles, so never inside a batch."""
        return matrix(factor(theta["C"]), self.size) @ matrix(factor(theta["R"]), self.size)
