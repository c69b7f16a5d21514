"""Evidences against the exact ones, and how often the true model is preferred.

    python benchmarks/evidence.py [linear nested volatility] [--series 20] [--minutes 30] [--short]

`linear`: log-evidence of linear series by the Kalman filter and quadrature, by T-SNL's kernel, and after
a correction with filters that do not know that the model is linear; each with its standard error.
`nested`: a walk plus noise against white noise, each series from one of the two with even odds;
`volatility`: two assets with a correlation and without. Both give the posterior probability of the model
with more in it, by corrected results, beside the truth. The kernel of each model is learned once, from
simulations all over the prior, and conditioned on each series: a correction is right whatever the
kernel. One row of evidence.csv each, seeds in it; rows that are there are not computed again. No row is
begun after the minutes are over. `--short` is two linear series.
"""

import argparse
import csv
import time
import warnings
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

import tsnl
from paper import LINEAR
from paper.problems import linear_reference
from tsnl.methods.api import Outcome
from tsnl.methods.particle.kernel_error import kernel_error
from tsnl.models import LinearGaussian, StochasticVolatility
from tsnl.posterior import sample_posterior
from tsnl.problem import Problem
from tsnl.runtime.compilation import cache_compilations
from tsnl.runtime.progress import Silent

OUT = Path(__file__).parent / "evidence.csv"
GRID = np.linspace(-14, 8, 4401)
METHOD = tsnl.TSNL(rounds=1, simulations=500)
CHAINS = tsnl.MCMC(transition="mixed", num_warmup=100, num_draws=150, min_ess=600)
FIELDS = ["kind", "seed", "truth", "exact", "kernel", "kernel_error", "kernel_error_se",
          "corrected", "corrected_se", "probability", "k_hat", "ess", "cost"]  # fmt: skip
Q = dist.LogNormal(np.log(0.3), 1.0)
MODELS = {
    "nested": (
        (LinearGaussian(A=0.9), tsnl.Prior(Q=Q, A=dist.Uniform(0.0, 1.0))),
        (LinearGaussian(A=0.0), tsnl.Prior(Q=Q)),
    ),
    "volatility": (
        (StochasticVolatility(), tsnl.Prior(Q=Q, C=dist.LKJ(2, 1.0))),
        (StochasticVolatility(C=np.eye(2)), tsnl.Prior(Q=Q)),
    ),
}
LENGTH = 100


class Unknown(tsnl.StateSpaceModel):
    """The paper's linear model, not known to be linear: its filters are particle filters."""

    Q: float = 0.1

    def sample_initial(self, key, theta):
        """x_0 ~ N(0, 1)."""
        return jax.random.normal(key)

    def sample_transition(self, key, state, theta, t, u):
        """x_t ~ N(0.9 x_{t-1}, Q)."""
        return 0.9 * state + jnp.sqrt(theta["Q"]) * jax.random.normal(key)

    def sample_observation(self, key, state, theta, t, u):
        """y_t ~ N(x_t, 0.1)."""
        return state + jnp.sqrt(0.1) * jax.random.normal(key)

    def log_observation(self, y, state, theta, t, u):
        """Log N(y_t | x_t, 0.1)."""
        return -0.5 * (y - state) ** 2 / 0.1 - 0.5 * jnp.log(2 * jnp.pi * 0.1)


MODELS["linear"] = ((Unknown(), LINEAR.prior),)


@cache
def learned(kind, place):
    """The posterior by a kernel that is learned once, from the prior."""
    model, prior = MODELS[kind][place]
    series = model.simulate(seed=0, length=LENGTH)
    return tsnl.infer(model, prior, series, METHOD, seed=0, progress=False).posterior


def corrected(kind, place, series, seed):
    """The kernel's posterior of a series, draws of it, and the record of the correction."""
    posterior = learned(kind, place).condition(series)
    problem = Problem.of(*MODELS[kind][place], series)
    z = sample_posterior(jax.random.key(seed), posterior, None, CHAINS).z
    draft = Outcome(z, np.zeros(z.shape[:2]), 0, "", [], posterior)
    found = tsnl.Correct().improve(jax.random.key(seed), problem, draft, Silent())
    return problem, posterior, z, found.history[-1]


def linear(seed):
    """One row of the linear series."""
    question = LINEAR.observe(seed)
    log_p = linear_reference(question, GRID)
    exact = float(np.log(np.trapezoid(np.exp(log_p - log_p.max()), GRID)) + log_p.max())
    problem, posterior, z, right = corrected("linear", 0, question.series, seed)
    error = kernel_error(jax.random.key(seed), problem, posterior, z, 64)
    return {
        "kind": "linear", "seed": seed, "exact": exact, "kernel": right["log_evidence_before"],
        "kernel_error": error.nats, "kernel_error_se": error.se,
        "corrected": right["log_evidence"], "corrected_se": right["log_evidence_se"],
        "k_hat": right["k_hat"], "ess": right["ess"], "cost": right["cost"],
    }  # fmt: skip


def rivals(kind, seed):
    """One row of two models, the first of which has the second in it."""
    truth = int(np.random.default_rng(seed).uniform() < 0.5)
    model, prior = MODELS[kind][truth]
    series = model.simulate(seed=seed, length=LENGTH, theta=prior.sample(jax.random.key(seed)))
    full, small = (corrected(kind, place, series, seed)[-1] for place in (0, 1))
    gap = full["log_evidence"] - small["log_evidence"]
    return {
        "kind": kind, "seed": seed, "truth": ("full", "small")[truth], "corrected": gap,
        "corrected_se": float(np.hypot(full["log_evidence_se"], small["log_evidence_se"])),
        "probability": float(1 / (1 + np.exp(-gap))), "k_hat": max(full["k_hat"], small["k_hat"]),
        "ess": min(full["ess"], small["ess"]), "cost": full["cost"] + small["cost"],
    }  # fmt: skip


def read():
    """The rows that are there."""
    if not OUT.exists():
        return []
    with OUT.open(newline="") as file:
        return list(csv.DictReader(file))


def append(row):
    """Write a row to the end of the file."""
    new = not OUT.exists()
    with OUT.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if new:
            writer.writeheader()
        writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
    print(row, flush=True)


def main():
    """Compute the missing rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kinds", nargs="*")
    parser.add_argument("--series", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    cache_compilations()
    warnings.simplefilter("ignore")
    begin, there = time.perf_counter(), {(row["kind"], int(row["seed"])) for row in read()}
    for kind in options.kinds or (["linear"] if options.short else ["linear", "nested", "volatility"]):
        for seed in range(2 if options.short else options.series):
            late = time.perf_counter() - begin > 60 * options.minutes
            if (kind, seed) not in there and not late:
                append(linear(seed) if kind == "linear" else rivals(kind, seed))


if __name__ == "__main__":
    main()
