r"""Failures that depend on theta: the posterior with and without the probability of not failing.

    python benchmarks/failures.py

A linear-Gaussian black box (A = 0.9, R = 0.1, T = 50) fails with probability 1 - exp(-(Q / c)^2), seldom
where Q is small, nearly always where it is large: mildly with c = 0.3, strongly with c = 0.15. A series
that was observed did not fail, so that its exact posterior is
prior x Kalman likelihood x exp(-(Q / c)^2), known on a grid of log Q. For eight series each, the total
variation to it of: T-SNL; the same kernels without the term that tsnl learns for P(ok | theta); and the
exact posterior that forgets failures, which is how far off a perfect kernel would be. Writes
failures.json.
"""

import json
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import tsnl
from paper import LINEAR
from paper.problems import linear_reference
from tsnl.problem import Problem

HERE = Path(__file__).parent
LENGTH, TRUTH, NUM_SERIES = 50, 0.2, 8
LIMITS = {"mild": 0.3, "strong": 0.15}
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
    if rng.uniform() > np.exp(-((theta["Q"] / theta["c"]) ** 2)):
        raise FloatingPointError("it diverged")
    return series_of(rng, theta["Q"])


def density(log_p):
    p = np.exp(log_p - np.max(log_p))
    return p / p.sum()


def distance(first, second):
    return float(0.5 * np.abs(density(first) - density(second)).sum())


def one(seed, limit):
    series = series_of(np.random.default_rng(seed), TRUTH)
    forgets = linear_reference(Problem.of(LINEAR.model, LINEAR.prior, series), GRID)
    exact = forgets - (np.exp(GRID) / limit) ** 2
    box = tsnl.BlackBox(simulate, parameters={"c": limit}, max_failures=1.0)
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
        "error_of_p_ok": float(np.abs(p_ok - np.exp(-((np.exp(GRID) / limit) ** 2)))[near].mean()),
    }


def main():
    found = {"simulations": METHOD.rounds * METHOD.simulations, "mean": {}, "runs": {}}
    for name, limit in LIMITS.items():
        runs = found["runs"][name] = []
        for seed in range(NUM_SERIES):
            runs.append(one(seed, limit))
            print(name, runs[-1], flush=True)
        columns = [column for column in runs[0] if column != "seed"]
        found["mean"][name] = {c: float(np.mean([run[c] for run in runs])) for c in columns}
    (HERE / "failures.json").write_text(json.dumps(found, indent=2) + "\n")
    print(found["mean"])


if __name__ == "__main__":
    main()
