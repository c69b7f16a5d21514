"""The problems, defined once: model, prior, truth and length."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Float

from tsnl.likelihood.kalman import filter_moments
from tsnl.models import LinearGaussian, LotkaVolterra, StateSpaceModel, StochasticVolatility
from tsnl.problem import Problem
from tsnl.problem.prior import Prior
from tsnl.simulation import HostSimulator


@dataclass(frozen=True)
class Setting:
    """A model with the truth in it, a prior over what is inferred, and the length of a series."""

    name: str
    model: StateSpaceModel | HostSimulator
    prior: Prior
    length: int

    def observe(self, seed: int) -> Problem:
        """A series simulated at the truth, and the question it poses."""
        series = self.model.simulate(seed=seed, length=self.length)
        return Problem.of(self.model, self.prior, series)

    @property
    def truth(self) -> dict[str, Any]:
        """The inferred parameters' true values."""
        return {name: self.model.parameters[name] for name in self.prior.names}


_RATES: dict[str, Any] = {"rho1": 0.01, "rho2": 0.01, "rho3": 1.0, "rho4": 0.5}
_SHIFTS = (0.3, -0.3, 0.2, -0.2)


def _volatility(size: int) -> Setting:
    """Coupled assets whose correlation fades with their distance; at size 2 the paper's."""
    places = np.arange(size)
    truth = 0.52 ** np.abs(places[:, None] - places)
    return Setting(
        "Volatility" if size == 2 else f"Volatility, {size} assets",
        StochasticVolatility(A=0.9, b=0.0, d=0.0, C=truth.tolist(), Q=0.1, R=1.0),
        Prior(C=dist.LKJ(size, 1.0)),
        length=100,
    )


LINEAR = Setting(
    "Linear",
    LinearGaussian(A=0.9, H=1.0, Q=0.1, R=0.1, mu_0=0.0, Sigma_0=1.0),
    Prior(Q=dist.LogNormal(np.log(0.3), 1.0)),
    length=100,
)
VOLATILITY = _volatility(2)
PREDATOR_PREY = Setting(
    "Predator-prey",
    LotkaVolterra(**_RATES, noise_sd=5.0, dt=0.4, event_cap=20_000, observe="prey"),
    Prior(
        **{
            name: dist.LogNormal(np.log(rate) + shift, 0.5)
            for (name, rate), shift in zip(_RATES.items(), _SHIFTS, strict=True)
        }
    ),
    length=50,
)
PROBLEMS = {
    "linear": LINEAR,
    "volatility": VOLATILITY,
    "volatility-3": _volatility(3),
    "volatility-5": _volatility(5),
    "predator-prey": PREDATOR_PREY,
}


def linear_reference(problem: Problem, grid: Float[np.ndarray, " grid"]) -> Float[np.ndarray, " grid"]:
    """The exact unnormalised log-posterior of z = log Q on a grid, by the Kalman filter in 64 bit."""
    model: Any = problem.model
    with jax.enable_x64(True):
        rows = jnp.asarray(problem.series)

        def log_p(z: Any) -> Any:
            theta = problem.prior.constrain(z[None])
            exact = filter_moments(model, theta, rows).log_likelihood
            return problem.prior.log_prob_unconstrained(z[None]) + exact

        return np.asarray(jax.jit(jax.vmap(log_p))(jnp.asarray(grid, dtype=float)))
