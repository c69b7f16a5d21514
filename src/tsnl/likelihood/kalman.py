r"""The Kalman filter and smoother: the exact likelihood of a linear-Gaussian model.

A missing entry (NaN) is left out of the innovation: its row of H is zeroed and its noise made a unit
variance of its own, so that it carries no information and adds nothing to the log-likelihood.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_factor, cho_solve
from jaxtyping import Array, Float

from tsnl.models.arrays import matrix, real_values, vector
from tsnl.models.base import Theta
from tsnl.models.linear_gaussian import LinearGaussian
from tsnl.problem.series import as_rows


class Moments(NamedTuple):
    """Means (T, d_x) and covariances (T, d_x, d_x) of the states x_1..x_T."""

    means: Float[Array | np.ndarray, "T d_x"]
    covariances: Float[Array | np.ndarray, "T d_x d_x"]


class KalmanFiltered(NamedTuple):
    r"""What a Kalman filter gives.

    Attributes:
        log_likelihood: \(\log p(y_{1:T} \mid \theta)\), exact.
        filtered: of \(p(x_t \mid y_{1:t})\).
        predicted: of \(p(x_t \mid y_{1:t-1})\).
    """

    log_likelihood: Float[Array | np.ndarray, ""]
    filtered: Moments
    predicted: Moments


def kalman_filter(model: LinearGaussian, theta: Theta, series: Any) -> KalmanFiltered:
    """Filter an observed series at one theta, in 64 bit; numpy arrays come back.

    Args:
        model: the linear-Gaussian model.
        theta: values that replace the model's own.
        series: (T,) or (T, d_y), NaN in rows or single entries that are missing.
    """
    rows = as_rows(series, num_columns=_require_linear(model).d_y)
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, _filter(model, real_values(theta), jnp.asarray(rows)))


def kalman_smoother(model: LinearGaussian, theta: Theta, series: Any) -> Moments:
    r"""The moments of \(p(x_t \mid y_{1:T})\), in 64 bit; arguments as in `kalman_filter`."""
    rows = as_rows(series, num_columns=_require_linear(model).d_y)
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, _smooth(model, real_values(theta), jnp.asarray(rows)))


def filter_moments(model: LinearGaussian, theta: Theta, rows: Float[Array, "T d_y"]) -> KalmanFiltered:
    r"""The filter itself, pure: for use inside `jit`, `grad` and `vmap`, in the precision at hand.

    .. math::
        m^- = A m + q_0, \; P^- = A P A^T + Q, \;
        S = H P^- H^T + R, \; K = P^- H^T S^{-1}, \\
        m = m^- + K v, \; P = (I - K H) P^- (I - K H)^T + K R K^T, \; v = y - H m^- - r_0.
    """
    p = _arrays(model, theta)
    identity = jnp.eye(model.d_x)

    def step(carry: tuple[Array, Array], y: Array) -> tuple[tuple[Array, Array], Any]:
        mean, cov = carry
        mean, cov = p.A @ mean + p.q_0, p.A @ cov @ p.A.T + p.Q
        seen = ~jnp.isnan(y)
        H = jnp.where(seen[:, None], p.H, 0.0)
        R = jnp.where(seen[:, None] & seen, p.R, jnp.diag(jnp.where(seen, 0.0, 1.0)))
        v = jnp.where(seen, jnp.where(seen, y, 0.0) - p.H @ mean - p.r_0, 0.0)
        S = cho_factor(H @ cov @ H.T + R, lower=True)
        log_det = 2 * jnp.sum(jnp.log(jnp.diag(S[0])))
        log_p = -0.5 * (v @ cho_solve(S, v) + log_det + jnp.sum(seen) * jnp.log(2 * jnp.pi))
        K = cho_solve(S, H @ cov).T
        kept = identity - K @ H  # Joseph's form: stays symmetric and positive semidefinite
        new = mean + K @ v, kept @ cov @ kept.T + K @ R @ K.T
        return new, (log_p, Moments(*new), Moments(mean, cov))

    _, (log_p, filtered, predicted) = jax.lax.scan(step, (p.mu_0, p.Sigma_0), rows)
    return KalmanFiltered(jnp.sum(log_p), filtered, predicted)


def smooth_moments(model: LinearGaussian, theta: Theta, rows: Float[Array, "T d_y"]) -> Moments:
    """The Rauch-Tung-Striebel smoother, pure."""
    A = _arrays(model, theta).A
    filtered, predicted = filter_moments(model, theta, rows)[1:]
    last = (filtered.means[-1], filtered.covariances[-1])

    def step(after: tuple[Array, Array], now: tuple[Moments, Moments]) -> tuple[Any, Any]:
        (mean, cov), (mean_after, cov_after) = now
        gain = cho_solve(cho_factor(cov_after, lower=True), A @ cov).T
        new = (
            mean + gain @ (after[0] - mean_after),
            cov + gain @ (after[1] - cov_after) @ gain.T,
        )
        return new, new

    now = jax.tree.map(lambda x: x[:-1], filtered), jax.tree.map(lambda x: x[1:], predicted)
    _, (means, covs) = jax.lax.scan(step, last, now, reverse=True)
    return Moments(jnp.append(means, last[0][None], 0), jnp.append(covs, last[1][None], 0))


def dynamics(
    model: LinearGaussian, theta: Theta
) -> tuple[Float[Array, "d_x d_x"], Float[Array, "d_x d_x"]]:
    """A and Q as matrices."""
    p = _arrays(model, theta)
    return p.A, p.Q


_filter = eqx.filter_jit(filter_moments)
_smooth = eqx.filter_jit(smooth_moments)


class _Arrays(NamedTuple):
    A: Array
    H: Array
    Q: Array
    R: Array
    q_0: Array
    r_0: Array
    mu_0: Array
    Sigma_0: Array


def _arrays(model: LinearGaussian, theta: Theta) -> _Arrays:
    p = model.complete(theta)
    return _Arrays(
        A=matrix(p["A"], model.d_x),
        H=matrix(p["H"], model.d_x),
        Q=matrix(p["Q"], model.d_x),
        R=matrix(p["R"], model.d_y),
        q_0=vector(p["q_0"], model.d_x),
        r_0=vector(p["r_0"], model.d_y),
        mu_0=vector(p["mu_0"], model.d_x),
        Sigma_0=matrix(p["Sigma_0"], model.d_x),
    )


def _require_linear(model: Any) -> LinearGaussian:
    if isinstance(model, LinearGaussian):
        return model
    raise TypeError(
        f"The Kalman filter is exact for LinearGaussian alone, not for {type(model).__name__}: use the "
        f"particle filter."
    )
