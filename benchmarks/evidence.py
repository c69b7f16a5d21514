"""Evidences against the exact ones, and how often the true model is preferred.

    python benchmarks/evidence.py [linear nested volatility] [--series 20] [--short]

`linear`: log-evidence of linear series by the Kalman filter and quadrature, by T-SNL's kernel, and after
a correction with filters that do not know that the model is linear; each with its standard error.
`nested`: a walk plus noise against white noise, each series from one of the two with even odds;
`volatility`: two assets with a correlation and without. Both give the posterior probability of the model
with more in it, by corrected results, beside the truth. One row of evidence.csv each; rows that are
there are not computed again. `--short` is two linear series.
"""

import argparse
import csv
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

import tsnl
from paper import LINEAR
from paper.problems import linear_reference
from tsnl.models import LinearGaussian, StochasticVolatility
from tsnl.runtime.compilation import cache_compilations

OUT = Path(__file__).parent / "evidence.csv"
GRID = np.linspace(-14, 8, 4401)
METHOD = tsnl.TSNL(rounds=5, simulations=40)
FIELDS = ["kind", "seed", "truth", "exact", "kernel", "kernel_se", "corrected", "corrected_se",
          "probability", "k_hat", "cost"]  # fmt: skip
Q = dist.LogNormal(np.log(0.3), 1.0)
RIVALS = {
    "nested": (
        (LinearGaussian(A=0.9), tsnl.Prior(Q=Q, A=dist.Uniform(0.0, 1.0))),
        (LinearGaussian(A=0.0), tsnl.Prior(Q=Q)),
    ),
    "volatility": (
        (StochasticVolatility(), tsnl.Prior(Q=Q, C=dist.LKJ(2, 1.0))),
        (StochasticVolatility(C=np.eye(2)), tsnl.Prior(Q=Q)),
    ),
}


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


def linear(seed):
    """One row of the linear series."""
    problem = LINEAR.observe(seed)
    log_p = linear_reference(problem, GRID)
    exact = float(np.log(np.trapezoid(np.exp(log_p - log_p.max()), GRID)) + log_p.max())
    result = tsnl.infer(Unknown(), problem.prior, problem.series, METHOD, seed=seed)
    kernel, found = result.evidence(seed=seed), result.correct(seed=seed)
    right = found.evidence()
    return {
        "kind": "linear", "seed": seed, "exact": exact, "kernel": kernel.log_evidence,
        "kernel_se": kernel.se, "corrected": right.log_evidence, "corrected_se": right.se,
        "k_hat": found.history[-1]["k_hat"], "cost": found.cost,
    }  # fmt: skip


def rivals(kind, seed):
    """One row of two models, the first of which has the second in it."""
    truth = int(np.random.default_rng(seed).uniform() < 0.5)
    model, prior = RIVALS[kind][truth]
    theta = prior.sample(jax.random.key(seed))
    series = model.simulate(seed=seed, length=100, theta=theta)
    results = {}
    for name, (model, prior) in zip(("full", "small"), RIVALS[kind], strict=True):
        results[name] = tsnl.infer(model, prior, series, METHOD, seed=seed).correct(seed=seed)
    found = tsnl.compare_models(results, scores=False)
    gap, se = found.log_bayes_factor("full", "small")
    return {
        "kind": kind, "seed": seed, "truth": ("full", "small")[truth], "corrected": gap,
        "corrected_se": se, "probability": found.probabilities["full"],
        "k_hat": max(r.history[-1]["k_hat"] for r in results.values()),
        "cost": sum(r.cost for r in results.values()),
    }  # fmt: skip


def read():
    """The rows that are there."""
    if not OUT.exists():
        return []
    with OUT.open(newline="") as file:
        return list(csv.DictReader(file))


def main():
    """Compute the missing rows, then say what they come to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kinds", nargs="*")
    parser.add_argument("--series", type=int, default=20)
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    cache_compilations()
    warnings.simplefilter("ignore")
    there = {(row["kind"], int(row["seed"])) for row in read()}
    for kind in options.kinds or (["linear"] if options.short else ["linear", *RIVALS]):
        for seed in range(2 if options.short else options.series):
            if (kind, seed) in there:
                continue
            row = linear(seed) if kind == "linear" else rivals(kind, seed)
            new = not OUT.exists()
            with OUT.open("a", newline="") as file:
                writer = csv.DictWriter(file, FIELDS)
                if new:
                    writer.writeheader()
                writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
            print(row, flush=True)
    rows = [row for row in read() if row["kind"] == "linear"]
    for name in ("kernel", "corrected"):
        off = [(float(r[name]) - float(r["exact"])) / float(r[f"{name}_se"]) for r in rows]
        if off:
            inside = sum(abs(x) < 2 for x in off)
            print(f"{name}: {inside} of {len(off)} within two standard errors", flush=True)


if __name__ == "__main__":
    main()
