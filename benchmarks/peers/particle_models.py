"""The problems' laws in NumPy, for `particles`: (start, move, density) of each, all particles at once.

`start(theta, n, rng)` draws x_0, `move(theta, x, t, rng)` x_t with t from 1, `density(theta, y, x)` is
log p(y_t | x_t). The same models as tsnl's, but that the epidemic's binomials are exact here.
"""

import numba
import numpy as np
from scipy.special import expit, gammaln


def normal(y, mean, sd):
    return -0.5 * ((y - mean) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi)


def poisson(y, log_rate):
    log_rate = np.minimum(log_rate, 14.0)
    return y * log_rate - np.exp(log_rate) - gammaln(y + 1)


def stationary(theta, n, rng):
    return theta["sigma"] / np.sqrt(max(1 - theta["phi"] ** 2, 1e-2)) * rng.normal(size=n)


def autoregression(theta, x, t, rng):
    return theta["phi"] * x + theta["sigma"] * rng.normal(size=len(x))


def linear(theta, x, t, rng):
    return 0.9 * x + np.sqrt(theta["Q"]) * rng.normal(size=len(x))


def volatility_density(theta, y, x):
    c = theta["C"]
    a, b = (y * np.exp(-x / 2)).T
    square = (a * a - 2 * c * a * b + b * b) / (1 - c * c)
    return -0.5 * square - 0.5 * np.log(1 - c * c) - np.log(2 * np.pi) - x.sum(axis=1) / 2


@numba.njit
def react(x, rates, dt, seed):
    """Exact reactions of (predators, prey) over an interval; NaN after 20,000 events."""
    np.random.seed(seed)  # noqa: NPY002  numba has no other
    out = x.copy()
    for i in range(len(x)):
        a, b = x[i]
        t, events = 0.0, 0
        while True:
            p1, p2, p3, p4 = rates[0] * a * b, rates[1] * a * b, rates[2] * b, rates[3] * a
            total = p1 + p2 + p3 + p4
            if not total > 0:
                break
            t += np.random.exponential(1 / total)  # noqa: NPY002
            if t > dt:
                break
            events += 1
            if events > 20_000:
                a = b = np.nan
                break
            u = np.random.random() * total  # noqa: NPY002
            if u < p1:
                a, b = a + 1, b - 1
            elif u < p1 + p2:
                b -= 1
            elif u < p1 + p2 + p3:
                b += 1
            else:
                a -= 1
        out[i] = a, b
    return out


def predators(theta, x, t, rng):
    rates = np.array([theta[f"rho{r}"] for r in (1, 2, 3, 4)], dtype=float)
    return react(x, rates, 0.4, rng.integers(2**31))


def predators_density(theta, y, x):
    return np.nan_to_num(normal(y, x[:, 1], 5.0), nan=-np.inf)


def regimes(theta, x, t, rng):
    busy = np.where(x > 0, theta["stay_busy"], 1 - theta["stay_calm"])
    return (rng.random(len(x)) < busy).astype(float)


def inflated_density(theta, y, x):
    counted = np.log1p(-theta["omega"]) + poisson(y, theta["mu"] + x)
    return np.where(y == 0, np.logaddexp(np.log(theta["omega"]), counted), counted)


def epidemic(theta, x, t, rng):
    s, e, i, _ = x.T
    infected = rng.binomial(s.astype(int), 1 - np.exp(-theta["beta"] * i / 1000))
    cases = rng.binomial(e.astype(int), 1 - np.exp(-0.3))
    recovered = rng.binomial(i.astype(int), 1 - np.exp(-theta["gamma"]))
    return np.stack([s - infected, e + infected - cases, i + cases - recovered, cases], axis=1)


def ricker(theta, x, t, rng):
    return x + theta["log_r"] - np.exp(x) + theta["sigma"] * rng.normal(size=len(x))


def leverage_start(theta, n, rng):
    return np.stack([theta["mu"] + stationary(theta, n, rng), rng.normal(size=n)], axis=1)


def leverage(theta, x, t, rng):
    h = theta["mu"] + theta["phi"] * (x[:, 0] - theta["mu"]) + theta["sigma"] * x[:, 1]
    return np.stack([h, rng.normal(size=len(x))], axis=1)


def leverage_density(theta, y, x):
    scale, rho = np.exp(x[:, 0] / 2), theta["rho"]
    return normal(y, scale * rho * x[:, 1], scale * np.sqrt(1 - rho**2))


def shares_density(theta, y, x):
    mean = np.clip(expit(theta["mu"] + x), 1e-4, 1 - 1e-4)
    a, b = mean * theta["k"], (1 - mean) * theta["k"]
    constant = gammaln(a + b) - gammaln(a) - gammaln(b)
    return (a - 1) * np.log(y) + (b - 1) * np.log1p(-y) + constant


def switching(theta, x, t, rng):
    other = rng.random(len(x)) < 1 - theta["stay"]
    regime = np.where(other, 1 - x[:, 0], x[:, 0])
    level = theta["low"] + regime * theta["gap"]
    moved = level + theta["phi"] * (x[:, 1] - level) + theta["q"] * rng.normal(size=len(x))
    return np.stack([regime, moved], axis=1)


MODELS = {
    "linear": (
        lambda theta, n, rng: rng.normal(size=n),
        linear,
        lambda theta, y, x: normal(y, x, np.sqrt(0.1)),
    ),
    "volatility": (
        lambda theta, n, rng: rng.normal(size=(n, 2)),
        lambda theta, x, t, rng: 0.9 * x + np.sqrt(0.1) * rng.normal(size=x.shape),
        volatility_density,
    ),
    "predator_prey": (
        lambda theta, n, rng: np.tile([50.0, 100.0], (n, 1)),
        predators,
        predators_density,
    ),
    "earthquakes": (
        lambda theta, n, rng: np.zeros(n),
        regimes,
        lambda theta, y, x: poisson(y, np.log(theta["calm"] + x * theta["more"])),
    ),
    "zero_inflated": (stationary, autoregression, inflated_density),
    "seir": (
        lambda theta, n, rng: np.tile([990.0, 10.0, 0.0, 0.0], (n, 1)),
        epidemic,
        lambda theta, y, x: poisson(y, np.log(theta["rho"] * x[:, 3] + 0.1)),
    ),
    "ricker": (
        lambda theta, n, rng: np.zeros(n),
        ricker,
        lambda theta, y, x: poisson(y, np.log(theta["phi"]) + x),
    ),
    "leverage": (leverage_start, leverage, leverage_density),
    "shares": (stationary, autoregression, shares_density),
    "switching": (
        lambda theta, n, rng: np.tile([0.0, float(theta["low"])], (n, 1)),
        switching,
        lambda theta, y, x: normal(y, x[:, 1], 0.3),
    ),
}
