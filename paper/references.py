r"""Reference posteriors, one for each observed series, computed once and kept.

One parameter: the log-posterior on a grid of its unconstrained coordinate z, exact by the Kalman filter
for the linear problem, by particle filters for the volatility one. Several parameters: draws of z, for
more assets by Hamiltonian Monte Carlo over parameters and states (`paper.joint_reference`),
for predator-prey, whose states are counts, by long particle MCMC
(`paper.particle_reference`).
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from paper.joint_reference import draw_joint
from paper.particle_reference import Effort, draw_reference
from paper.problems import (
    LINEAR,
    PREDATOR_PREY,
    PROBLEMS,
    VOLATILITY,
    Setting,
    linear_reference,
)
from tsnl.likelihood.estimate import Estimate

LINEAR_GRID = np.linspace(np.log(1e-3), np.log(5.0), 600)  # z = log Q
VOLATILITY_GRID = np.linspace(-1.2, 2.3, 36)  # C[1,0] = tanh z
RUNS = 4  # filters at each point of the volatility grid
FINE = 2000  # points that a grid is interpolated to
NUM_DRAWS = 2000  # draws that stand for a grid
LONG = Effort(250, 500.0)
ROUGH = Effort(20, 1.0, num_starts=20, pilot=((50, 0.0),), last=(50, 0.5), max_repeats=1)


@dataclass(frozen=True)
class Reference:
    """The posterior that methods are measured against, in unconstrained coordinates.

    Attributes:
        draws: of z, of equal weight.
        grid: points of z, for one coordinate; empty for several.
        log_p: the unnormalised log-density there.
    """

    draws: Float[np.ndarray, "n size"]
    grid: Float[np.ndarray, " points"]
    log_p: Float[np.ndarray, " points"]

    @staticmethod
    def of_grid(grid: Float[np.ndarray, " points"], log_p: Float[np.ndarray, " points"]) -> "Reference":
        """A density on a grid, and evenly spaced quantiles of it for draws."""
        levels = (np.arange(NUM_DRAWS) + 0.5) / NUM_DRAWS
        return Reference(quantiles(grid, log_p, levels)[:, None], grid, log_p)

    @staticmethod
    def of_draws(draws: Float[np.ndarray, "n size"]) -> "Reference":
        """Draws alone."""
        return Reference(draws.astype(np.float64), np.zeros(0), np.zeros(0))


def quantiles(
    grid: Float[np.ndarray, " points"],
    log_p: Float[np.ndarray, " points"],
    levels: Float[np.ndarray, " n"],
) -> Float[np.ndarray, " n"]:
    """The quantiles of a density given by its logarithm on a grid."""
    fine = np.linspace(grid[0], grid[-1], FINE)
    p = density(np.interp(fine, grid, log_p))
    mass = np.concatenate([[0.0], np.cumsum((p[1:] + p[:-1]) / 2)])
    return np.interp(levels, mass / mass[-1], fine)


def density(log_p: Any) -> np.ndarray:
    """Up to a constant, safe from overflow."""
    log_p = np.asarray(log_p, dtype=float)
    return np.exp(log_p - log_p.max())


@eqx.filter_jit
def on_grid(
    posterior: eqx.Module, grid: Float[Array | np.ndarray, " points"]
) -> Float[Array, " points"]:
    """The log-posterior at each point of a grid of z."""
    points = jnp.asarray(grid, dtype=float)[:, None]
    return jax.lax.map(posterior, points, batch_size=16)


def reference(name: str, seed: int, folder: Path, quick: bool = False) -> Reference:
    """The reference posterior of the series that a problem observes with a seed.

    Args:
        name: of the problem.
        seed: of the observed series.
        folder: where references are kept; computed and written where it is not there yet.
        quick: a rough one in seconds, to see that everything works.

    Raises:
        ValueError: the file is of another series, as after a change of the problem.
    """
    setting, path = PROBLEMS[name], folder / f"{name}-{seed}.npz"
    series = setting.observe(seed).series
    if not path.exists():
        _write(path, compute(name, seed, quick), series)
    with np.load(path, allow_pickle=False) as stored:
        if stored["series"].shape != series.shape or not np.allclose(stored["series"], series):
            raise ValueError(f"{path} is of another series than {name} has now: remove it.")
        return Reference(stored["draws"], stored["grid"], stored["log_p"])


def compute(name: str, seed: int, quick: bool) -> Reference:
    """What `reference` keeps."""
    setting = PROBLEMS[name]
    if setting is LINEAR:
        return Reference.of_grid(LINEAR_GRID, linear_reference(setting.observe(seed), LINEAR_GRID))
    if setting is VOLATILITY:
        return Reference.of_grid(
            VOLATILITY_GRID, volatility_reference(setting, seed, 200 if quick else 5000)[0]
        )
    if setting is PREDATOR_PREY:
        draws, _ = draw_reference(setting, seed, ROUGH if quick else LONG)
    else:
        draws = draw_joint(setting, seed, num_warmup=500, num_draws=1000)
    return Reference.of_draws(draws.reshape(-1, draws.shape[-1]))


def volatility_reference(
    setting: Setting, seed: int, num_particles: int = 5000
) -> tuple[Float[np.ndarray, " points"], float]:
    """The log-posterior on the grid, smoothed, and the noise that was smoothed away, in nats."""
    problem = setting.observe(seed)
    target = Estimate.of(problem.laws, setting.prior, problem.series, num_particles)
    runs = _estimates(jax.random.key(seed), target)
    log_p = np.asarray(jax.nn.logsumexp(runs, axis=1) - np.log(RUNS), dtype=float)
    # noise of a few hundredths of a nat: a polynomial of degree 7, weighted by the posterior's mass
    weight = np.exp(0.5 * np.maximum(log_p - log_p.max(), -16))
    smooth = np.polynomial.Polynomial.fit(VOLATILITY_GRID, log_p, 7, w=weight)(VOLATILITY_GRID)
    return smooth, float(np.std((smooth - log_p)[log_p > log_p.max() - 5]))


@eqx.filter_jit
def _estimates(key: Key[Array, ""], target: Estimate) -> Float[Array, "points runs"]:
    keys = jax.random.split(key, RUNS)  # the same at every z: common random numbers

    def at(z: Array) -> Array:
        return jax.lax.map(lambda k: target(k, z[None]), keys)

    return jax.lax.map(at, jnp.asarray(VOLATILITY_GRID, dtype=float))


def _write(path: Path, found: Reference, series: np.ndarray) -> None:
    """Whole or not at all: a reader never sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    with part.open("wb") as file:
        np.savez_compressed(file, draws=found.draws, grid=found.grid, log_p=found.log_p, series=series)
    part.replace(path)
