"""A linear-Gaussian series, its exact posterior of Q, and the particle filter beside it.

Prints a table and saves out/demo.png.
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
import numpyro.distributions as dist

import tsnl
from tsnl.likelihood import kalman_filter, kalman_smoother, particle_filter

matplotlib.use("Agg")
import matplotlib.pyplot as plt

OUT = Path("out")


def grid_posterior(log_likelihoods, log_priors, grid):
    """Normalised density on the grid."""
    log_p = np.asarray(log_likelihoods, float) + np.asarray(log_priors, float)
    density = np.exp(log_p - log_p.max())
    return density / np.trapezoid(density, grid)


def main():
    """Simulate, infer on a grid, print, draw."""
    model = tsnl.models.LinearGaussian(A=0.9, H=1.0, Q=0.1, R=0.1)
    prior = tsnl.Prior(Q=dist.LogNormal(np.log(0.3), 1.0))
    series, states = model.simulate(seed=1, length=100, return_states=True)

    grid = np.linspace(0.01, 0.5, 60)
    log_prior = jax.vmap(lambda q: prior.log_prob({"Q": q}))(jnp.asarray(grid))
    exact = [kalman_filter(model, {"Q": q}, series).log_likelihood for q in grid]
    key = jax.random.key(0)
    estimate = [particle_filter(key, model, {"Q": q}, series, 2000).log_likelihood for q in grid]
    posteriors = {
        "Kalman (exact)": grid_posterior(exact, log_prior, grid),
        "particle filter": grid_posterior(estimate, log_prior, grid),
    }
    print(f"{'posterior of Q (truth 0.1)':28}{'mean':>8}{'sd':>8}")
    for name, density in posteriors.items():
        mean = np.trapezoid(grid * density, grid)
        sd = np.sqrt(np.trapezoid((grid - mean) ** 2 * density, grid))
        print(f"{name:28}{mean:8.4f}{sd:8.4f}")

    smoothed = kalman_smoother(model, {}, series)
    mean, sd = smoothed.means[:, 0], np.sqrt(smoothed.covariances[:, 0, 0])
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
    t = np.arange(1, len(series) + 1)
    left.plot(t, series, ".", color="0.6", label="observed")
    left.plot(t, states, color="k", lw=0.8, label="state")
    left.fill_between(t, mean - 2 * sd, mean + 2 * sd, alpha=0.3, label="smoothed, 95 %")
    left.set(xlabel="t")
    left.legend(frameon=False)
    for name, density in posteriors.items():
        right.plot(grid, density, label=name)
    right.axvline(0.1, color="0.6", ls=":", label="truth")
    right.set(xlabel="Q", ylabel="posterior density")
    right.legend(frameon=False)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "demo.png", dpi=120)
    print(f"Picture: {OUT / 'demo.png'}")


if __name__ == "__main__":
    main()
