r"""Failures that depend on theta: the posterior with and without the probability of not failing.

    python benchmarks/failures.py

A linear-Gaussian black box (A = 0.9, R = 0.1, T = 50) fails with probability 1 - exp(-(Q / 0.3)^2):
seldom where Q is small, nearly always where it is large. A series that was observed did not fail, so
that its exact posterior is prior x Kalman likelihood x exp(-(Q / 0.3)^2), known on a grid of log Q. For
eight series, the total variation to it of: T-SNL; the same kernels without the term that tsnl learns for
P(ok | theta); and the exact posterior that forgets failures, which is how far off a perfect kernel would
be. Writes failures.json.
"""

import json
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import tsnl
from tsnl.experiments import LINEAR
from tsnl.experiments.problems import linear_reference
from tsnl.problem import Problem

HERE = Path(__file__).parent
LENGTH, TRUTH, LIMIT, NUM_SERIES = 50, 0.2, 0.3, 8
METHOD = tsnl.TSNL(rounds=5, simulations=40)
GRID = np.linspace(np.log(0.003), np.log(3.0), 400)


def series_of(rng, q):
    """One series; it does not fail."""
    x, rows = rng.normal(), np.empty(LENGTH)
    for t in range(LENGTH):
        x = 0.9 * x + np.sqrt(q) * rng.normal()
        rows[t] = x + np.sqrt(0.1) * rng.normal()
    return rows


def simulate(rng, theta):
    if rng.uniform() > np.exp(-((theta["Q"] / LIMIT) ** 2)):
        raise FloatingPointError("it diverged")
    return series_of(rng, theta["Q"])


def density(log_p):
    p = np.exp(log_p - np.max(log_p))
    return p / p.sum()


def distance(first, second):
    return float(0.5 * np.abs(density(first) - density(second)).sum())


def one(seed):
    series = series_of(np.random.default_rng(seed), TRUTH)
    forgets = linear_reference(Problem.of(LINEAR.model, LINEAR.prior, series), GRID)
    exact = forgets - (np.exp(GRID) / LIMIT) ** 2
    box = tsnl.BlackBox(simulate, max_failures=0.9)
    result = tsnl.infer(box, LINEAR.prior, series, METHOD, seed=seed, progress=False)
    posterior, z = result.posterior, jnp.asarray(GRID[:, None], dtype=float)
    without = replace(posterior, likelihood=replace(posterior.likelihood, completion=None))
    p_ok = np.exp(jax.vmap(posterior.likelihood.completion)(z))
    near = density(forgets) > 0.01 * density(forgets).max()
    return {
        "seed": seed,
        "failed": len(result.failures),
        "with_the_term": distance(np.asarray(jax.lax.map(posterior, z)), exact),
        "without_the_term": distance(np.asarray(jax.lax.map(without, z)), exact),
        "exact_that_forgets": distance(forgets, exact),
        "error_of_p_ok": float(np.abs(p_ok - np.exp(-((np.exp(GRID) / LIMIT) ** 2)))[near].mean()),
    }


def main():
    runs = []
    for seed in range(NUM_SERIES):
        runs.append(one(seed))
        print(runs[-1], flush=True)
    names = [name for name in runs[0] if name not in ("seed", "failed")]
    means = {name: float(np.mean([run[name] for run in runs])) for name in names}
    text = json.dumps({"simulations": 200, "mean": means, "runs": runs}, indent=2)
    (HERE / "failures.json").write_text(text + "\n")
    print(means)


if __name__ == "__main__":
    main()
