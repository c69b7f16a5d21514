# ruff: noqa: D102 - the laws are documented by tsnl.StateSpaceModel
"""Linear and Gaussian: near a unit root, six columns, eight parameters, 2,000 rows. All exact."""

from abc import abstractmethod

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

import tsnl
from benchmarks.zoo.entry import Entry
from benchmarks.zoo.laws import log_normal
from tsnl.likelihood.kalman import filter_moments

MATURITIES = (0.25, 1.0, 2.0, 3.0, 5.0, 10.0)  # no array: JAX would remember its first precision


class Linear(tsnl.StateSpaceModel):
    """x_0 ~ N(0, I), x_t ~ N(A x_{t-1}, q^2 I), y_t ~ N(H x_t, s^2 I), A, H, q, s made of theta."""

    @abstractmethod
    def matrices(self, theta):
        """A, H, q and s."""

    def sample_initial(self, key, theta):
        return jax.random.normal(key, (2,))

    def sample_transition(self, key, state, theta, t, u):
        A, _, q, _ = self.matrices(theta)
        return A @ state + q * jax.random.normal(key, (2,))

    def sample_observation(self, key, state, theta, t, u):
        _, H, _, s = self.matrices(theta)
        return H @ state + s * jax.random.normal(key, (len(H),))

    def log_observation(self, y, state, theta, t, u):
        _, H, _, s = self.matrices(theta)
        return jnp.sum(log_normal(y, H @ state, s))

    def log_likelihood(self, theta, rows):
        """Exact, by the Kalman filter."""
        A, H, q, s = self.matrices(theta)
        known = {"A": A, "H": H, "Q": q**2, "R": s**2, "Sigma_0": 1.0}
        shape = tsnl.models.LinearGaussian(A=np.eye(2), H=np.ones(H.shape))
        return filter_moments(shape, known, rows).log_likelihood


class NelsonSiegel(Linear):
    """Yields of six maturities, loaded on a level and a slope that decays with maturity at a rate."""

    phi: float = 0.9
    q: float = 0.4
    decay: float = 0.6
    s: float = 0.3

    def matrices(self, theta):
        far = theta["decay"] * jnp.array(MATURITIES)
        H = jnp.stack([jnp.ones(len(MATURITIES)), (1 - jnp.exp(-far)) / far], axis=1)
        return theta["phi"] * jnp.eye(2), H, theta["q"], theta["s"]


class Cycle(Linear):
    """A stochastic cycle: a damped rotation with shocks, seen with noise."""

    damping: float = 0.95
    period: float = 20.0
    q: float = 0.3
    s: float = 1.0

    def matrices(self, theta):
        angle = 2 * jnp.pi / theta["period"]
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        turn = jnp.stack([jnp.stack([cos, sin]), jnp.stack([-sin, cos])])
        return theta["damping"] * turn, jnp.array([[1.0, 0.0]]), theta["q"], theta["s"]


def kalman(model):
    """The exact log-likelihood of a `tsnl.models.LinearGaussian`."""
    return lambda theta, rows: filter_moments(model, theta, rows).log_likelihood


UNIT_ROOT = tsnl.models.LinearGaussian(A=0.98, H=1.0, Q=0.1, R=0.3, mu_0=0.0, Sigma_0=1.0)
VAR = tsnl.models.LinearGaussian(
    A=[[0.8, 0.2], [-0.3, 0.6]], H=1.0, Q=[0.3, 0.5], R=[0.2, 0.2], mu_0=0.0, Sigma_0=1.0
)
VARIANCE = {"loc": np.log(0.3), "scale": 1.0}

ENTRIES = (
    Entry(
        "unit_root",
        "tune",
        "near a unit root; some prior draws explode",
        "Harvey (1989), Forecasting, Structural Time Series Models and the Kalman Filter",
        UNIT_ROOT,
        tsnl.Prior(A=dist.Normal(0.9, 0.1), Q=dist.LogNormal(**VARIANCE), R=dist.LogNormal(**VARIANCE)),
        length=150,
        exact=kalman(UNIT_ROOT),
    ),
    Entry(
        "nelson_siegel",
        "tune",
        "six columns",
        "Diebold, Rudebusch and Aruoba (2006), Journal of Econometrics 131",
        NelsonSiegel(),
        tsnl.Prior(
            phi=dist.Uniform(0, 1),
            q=dist.LogNormal(np.log(0.5), 0.7),
            decay=dist.LogNormal(np.log(0.5), 0.5),
            s=dist.LogNormal(np.log(0.5), 0.7),
        ),
        length=100,
        exact=NelsonSiegel().log_likelihood,
    ),
    Entry(
        "var",
        "report",
        "eight parameters, two columns; some prior draws explode",
        "Lutkepohl (2005), New Introduction to Multiple Time Series Analysis",
        VAR,
        tsnl.Prior(
            A=dist.Normal(0.5 * np.eye(2), 0.25),
            Q=dist.LogNormal(np.full(2, np.log(0.3)), 1.0),
            R=dist.LogNormal(np.full(2, np.log(0.3)), 1.0),
        ),
        length=150,
        exact=kalman(VAR),
    ),
    Entry(
        "cycle",
        "report",
        "2,000 rows",
        "Harvey (1989); Harvey and Jaeger (1993), J. Applied Econometrics 8",
        Cycle(),
        tsnl.Prior(
            damping=dist.Uniform(0, 1),
            period=dist.LogNormal(np.log(15), 0.5),
            q=dist.LogNormal(np.log(0.5), 0.7),
            s=dist.LogNormal(np.log(0.5), 0.7),
        ),
        length=2000,
        exact=Cycle().log_likelihood,
    ),
)
