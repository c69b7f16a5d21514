# ruff: noqa: D102 - the laws are documented by tsnl.StateSpaceModel
"""Dynamics: two modes in the filter, a chaotic map, stochastic differential equations, known inputs."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

import tsnl
from benchmarks.zoo.entry import Entry
from benchmarks.zoo.laws import log_normal
from benchmarks.zoo.models_noise import scale


class Growth(tsnl.StateSpaceModel):
    """The nonlinear growth model; only the square of the state is seen, so its sign is not."""

    q: float = 3.0
    s: float = 1.0

    def sample_initial(self, key, theta):
        return jnp.sqrt(5.0) * jax.random.normal(key)

    def sample_transition(self, key, state, theta, t, u):
        drift = state / 2 + 25 * state / (1 + state**2) + 8 * jnp.cos(1.2 * t)
        return drift + theta["q"] * jax.random.normal(key)

    def sample_observation(self, key, state, theta, t, u):
        return state**2 / 20 + theta["s"] * jax.random.normal(key)

    def log_observation(self, y, state, theta, t, u):
        return log_normal(y, state**2 / 20, theta["s"])


class ThetaLogistic(tsnl.StateSpaceModel):
    """Log-abundance n_t = n_{t-1} + r (1 - exp(power n_{t-1})) + q e_t, chaotic, seen with noise."""

    r: float = 2.8
    power: float = 1.0
    q: float = 0.15
    s: float = 0.2

    def sample_initial(self, key, theta):
        return 0.3 * jax.random.normal(key)

    def sample_transition(self, key, state, theta, t, u):
        grown = state + theta["r"] * (1 - jnp.exp(theta["power"] * state))
        return grown + theta["q"] * jax.random.normal(key)

    def sample_observation(self, key, state, theta, t, u):
        return state + theta["s"] * jax.random.normal(key)

    def log_observation(self, y, state, theta, t, u):
        return log_normal(y, state, theta["s"])


class CIR(tsnl.StateSpaceModel):
    """A square-root diffusion dx = kappa (m - x) dt + sigma sqrt(x) dW, seen monthly with noise."""

    kappa: float = 2.0
    m: float = 4.0
    sigma: float = 1.0
    s: float = 0.5
    steps: int = eqx.field(static=True, default=3)

    def sample_initial(self, key, theta):
        return jnp.asarray(3.0)

    def sample_transition(self, key, state, theta, t, u):
        dt = 1 / 12 / self.steps
        for e in jax.random.normal(key, (self.steps,)):
            root = jnp.sqrt(jnp.maximum(state, 0) * dt)  # Euler-Maruyama with full truncation
            drift = theta["kappa"] * (theta["m"] - jnp.maximum(state, 0)) * dt
            state = state + drift + theta["sigma"] * root * e
        return state

    def sample_observation(self, key, state, theta, t, u):
        return state + theta["s"] * jax.random.normal(key)

    def log_observation(self, y, state, theta, t, u):
        return log_normal(y, state, theta["s"])


class FitzHughNagumo(tsnl.StateSpaceModel):
    """A neuron's voltage v and recovery w, noise in w; the voltage is seen with noise.

    dv = (v - v^3 - w) / 0.3 dt, dw = (gamma v - w + beta) dt + sigma dW, by Euler-Maruyama; v is kept
    within 3, where the cubic would overshoot.
    """

    gamma: float = 1.5
    beta: float = 0.5
    sigma: float = 0.3
    s: float = 0.15
    dt: float = eqx.field(static=True, default=0.05)
    steps: int = eqx.field(static=True, default=5)

    def sample_initial(self, key, theta):
        return jnp.array([-0.5, 0.0])

    def sample_transition(self, key, state, theta, t, u):
        v, w = state
        for e in jax.random.normal(key, (self.steps,)):
            dv = (v - v**3 - w) / 0.3
            dw = theta["gamma"] * v - w + theta["beta"]
            v = jnp.clip(v + self.dt * dv, -3, 3)
            w = w + self.dt * dw + theta["sigma"] * np.sqrt(self.dt) * e
        return jnp.stack([v, w])

    def sample_observation(self, key, state, theta, t, u):
        return state[0] + theta["s"] * jax.random.normal(key)

    def log_observation(self, y, state, theta, t, u):
        return log_normal(y, state[0], theta["s"])


class Reservoir(tsnl.StateSpaceModel):
    """Water that rain u_t fills and that drains at a rate; the logarithm of the flow is seen.

    x_t = (1 - drain) x_{t-1} exp(q e_t) + gain u_t, y_t = log(drain x_t) + s e_t.
    """

    drain: float = 0.2
    gain: float = 0.6
    q: float = 0.15
    s: float = 0.15

    def sample_initial(self, key, theta):
        return jnp.asarray(5.0)

    def sample_transition(self, key, state, theta, t, u):
        kept = (1 - theta["drain"]) * state * jnp.exp(theta["q"] * jax.random.normal(key))
        return kept + theta["gain"] * jnp.sum(u)

    def sample_observation(self, key, state, theta, t, u):
        return self._log_flow(state, theta) + theta["s"] * jax.random.normal(key)

    def log_observation(self, y, state, theta, t, u):
        return log_normal(y, self._log_flow(state, theta), theta["s"])

    def _log_flow(self, state, theta):
        return jnp.log(theta["drain"] * state + 1e-6)


def rain(length, seed=7):
    """Showers: two days in five are wet."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(length) < 0.4, rng.exponential(5.0, length), 0.0)


ENTRIES = (
    Entry(
        "growth",
        "tune",
        "bimodal filter, nonlinear",
        "Kitagawa (1987), JASA 82; Gordon, Salmond and Smith (1993); Andrieu et al. (2010)",
        Growth(),
        tsnl.Prior(q=scale(2.0), s=scale(1.0)),
        length=100,
        num_particles=400,
    ),
    Entry(
        "theta_logistic",
        "tune",
        "chaotic map",
        "Peters, Hosack and Hayes (2010); de Valpine and Hastings (2002), Ecological Monographs 72",
        ThetaLogistic(),
        tsnl.Prior(r=scale(2.0, 0.5), power=scale(1.0, 0.4), q=scale(0.2), s=scale(0.2)),
        length=100,
        num_particles=400,
    ),
    Entry(
        "cir",
        "tune",
        "stochastic differential equation",
        "Cox, Ingersoll and Ross (1985), Econometrica 53",
        CIR(),
        tsnl.Prior(kappa=scale(1.5, 0.8), m=scale(4.0, 0.5), sigma=scale(1.0, 0.6), s=scale(0.5, 0.6)),
        length=120,
        num_particles=200,
    ),
    Entry(
        "fitzhugh_nagumo",
        "report",
        "stochastic differential equation, oscillator",
        "FitzHugh (1961); Ditlevsen and Samson (2014), Annals of Applied Statistics 8",
        FitzHughNagumo(),
        tsnl.Prior(
            gamma=scale(1.5, 0.4), beta=dist.Normal(0.5, 0.4), sigma=scale(0.3, 0.5), s=scale(0.2, 0.5)
        ),
        length=100,
        num_particles=300,
    ),
    Entry(
        "reservoir",
        "tune",
        "known inputs",
        "Beven (2012), Rainfall-Runoff Modelling; Kavetski et al. (2006)",
        Reservoir(),
        tsnl.Prior(drain=dist.Beta(2, 4), gain=scale(0.7, 0.6), q=scale(0.15), s=scale(0.15)),
        length=120,
        inputs=rain(120),
        num_particles=200,
    ),
)
