"""The linear-Gaussian state-space model."""

from typing import Any

import jax
from jaxtyping import Array, ArrayLike, Float, Key

from tsnl.models.arrays import (
    Parameter,
    apply,
    check_covariance,
    common_size,
    factor,
    log_normal,
    parameter,
    vector,
)
from tsnl.models.base import StateSpaceModel, Theta
from tsnl.store.registry import register


@register
class LinearGaussian(StateSpaceModel):
    r"""Linear dynamics and observations with Gaussian noise.

    .. math::
        x_0 \sim N(\mu_0, \Sigma_0), \quad
        x_t = A x_{t-1} + q_t, \; q_t \sim N(q_0, Q), \quad
        y_t = H x_t + r_t, \; r_t \sim N(r_0, R).

    A scalar covariance is that number times the identity, a vector the diagonal, a matrix itself; the
    same holds for A. H is a number or a (d_y, d_x) matrix. A scalar mean stands for equal entries.
    """

    A: Parameter = parameter(0.9)
    H: Parameter = parameter(1.0)
    Q: Parameter = parameter(0.1)
    R: Parameter = parameter(0.1)
    q_0: Parameter = parameter(0.0)
    r_0: Parameter = parameter(0.0)
    mu_0: Parameter = parameter(0.0)
    Sigma_0: Parameter = parameter(1.0)

    def __check_init__(self) -> None:
        if self.H.ndim == 1 or self.H.ndim > 2:
            raise ValueError(f"H has shape {self.H.shape}: give a number or a (d_y, d_x) matrix.")
        for name in ("Q", "R", "Sigma_0"):
            check_covariance(name, getattr(self, name))
        _ = self.d_x, self.d_y

    @property
    def d_x(self) -> int:
        """Dimension of the state."""
        shapes = {name: getattr(self, name).shape for name in ("A", "Q", "q_0", "mu_0", "Sigma_0")}
        shapes["H (columns)"] = self.H.shape[1:]
        if not self.H.shape:  # then H is a multiple of the identity, and d_y = d_x
            shapes |= {"R": self.R.shape, "r_0": self.r_0.shape}
        return common_size("state's dimension d_x", shapes)

    @property
    def d_y(self) -> int:
        """Dimension of an observation."""
        if not self.H.shape:
            return self.d_x
        shapes = {"H (rows)": self.H.shape[:1], "R": self.R.shape, "r_0": self.r_0.shape}
        return common_size("observation's dimension d_y", shapes)

    def sample_initial(self, key: Key[Array, ""], theta: Theta) -> Float[Array, " d_x"]:
        """x_0 ~ N(mu_0, Sigma_0)."""
        noise = apply(factor(theta["Sigma_0"]), jax.random.normal(key, (self.d_x,)))
        return vector(theta["mu_0"], self.d_x) + noise

    def sample_transition(
        self, key: Key[Array, ""], state: Array, theta: Theta, t: ArrayLike, u: Any
    ) -> Float[Array, " d_x"]:
        """x_t ~ N(A x_{t-1} + q_0, Q)."""
        noise = apply(factor(theta["Q"]), jax.random.normal(key, (self.d_x,)))
        return apply(theta["A"], state) + vector(theta["q_0"], self.d_x) + noise

    def sample_observation(
        self, key: Key[Array, ""], state: Array, theta: Theta, t: ArrayLike, u: Any
    ) -> Float[Array, " d_y"]:
        """y_t ~ N(H x_t + r_0, R)."""
        noise = apply(factor(theta["R"]), jax.random.normal(key, (self.d_y,)))
        return self._mean_observation(state, theta) + noise

    def log_observation(
        self, y: Array, state: Array, theta: Theta, t: ArrayLike, u: Any
    ) -> Float[Array, ""]:
        """Log N(y_t | H x_t + r_0, R)."""
        return log_normal(y - self._mean_observation(state, theta), factor(theta["R"]))

    def _mean_observation(self, state: Array, theta: Theta) -> Float[Array, " d_y"]:
        return apply(theta["H"], state) + vector(theta["r_0"], self.d_y)
