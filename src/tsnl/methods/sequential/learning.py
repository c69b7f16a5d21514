"""From simulations to a fitted kernel, and the lag that it has."""

from dataclasses import dataclass, replace
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from tsnl.kernel import Family, Kernel, Region, Scaling, Transform, num_weights
from tsnl.kernel.gaps import gap_masks
from tsnl.kernel.lag import LagChoice, by_acf, by_score
from tsnl.kernel.memory import Past, Windows, split
from tsnl.kernel.training import Fit, Training, train
from tsnl.likelihood.completion import Completion
from tsnl.likelihood.surrogate import SurrogateLikelihood
from tsnl.methods.sequential.simulated import Simulated, Strategy
from tsnl.problem import Problem
from tsnl.sampling import MCMC

Lag = int | Literal["acf", "aic", "bic", "validation"]


@dataclass(frozen=True)
class Plan:
    """What a sequential method is to do, its options checked.

    Attributes:
        title: what the method is called.
        whole: whether a series is one row of T d_y entries, as in SNL, or T rows.
        lag, decays: the lag, or the rule that finds it, and the decay rates of the summaries.
        dequantise: whether y is integer-valued and gets uniform noise in training.
        gaps: whether contexts in training have entries missing, like the observed series.
    """

    title: str
    whole: bool
    rounds: int
    simulations: int
    widen: float
    lag: Lag
    decays: tuple[float, ...]
    family: Family
    training: Training
    sampler: MCMC
    strategy: Strategy
    transform: Transform
    dequantise: bool
    gaps: bool
    stop: Literal["never", "converged"]
    max_cost: int | None

    def affordable(self, cost: int, length: int) -> int:
        """How many simulations a round may have, after so many calls of the dynamics."""
        if self.max_cost is None:
            return self.simulations
        return min(self.simulations, (self.max_cost - cost) // length)

    def rows(self, series: Float[np.ndarray, "N T d_y"]) -> Float[np.ndarray, "N rows entries"]:
        """Series as the density sees them."""
        return series.reshape(len(series), 1, -1) if self.whole else series

    def arrays(
        self, simulated: Simulated
    ) -> tuple[
        Float[np.ndarray, "N rows entries"],
        Float[np.ndarray, "N rows known"],
        Float[np.ndarray, "N size"],
    ]:
        """Series, inputs and parameters of the simulations as `prepare` takes them."""
        dtype = jnp.result_type(float)
        inputs = simulated.inputs[:, :1, :0] if self.whole else simulated.inputs
        return (
            self.rows(simulated.series).astype(dtype),
            inputs.astype(dtype),
            simulated.z.astype(dtype),
        )

    def d_u(self, problem: Problem) -> int:
        """Columns of the inputs in a context; a density of whole series has learned under them."""
        return 0 if self.whole else problem.d_u

    def likelihood(
        self, kernel: Kernel, problem: Problem, completion: Completion | None = None
    ) -> SurrogateLikelihood:
        """What a kernel says of the observed series, and the probability that a simulation succeeds."""
        panel = [self.rows(one[None])[0] for one in problem.panel]
        inputs = None if self.whole else problem.inputs
        return SurrogateLikelihood.of(kernel, *panel, inputs=inputs, completion=completion)


def decide_lag(
    key: Key[Array, ""], plan: Plan, simulated: Simulated, scaling: Scaling, problem: Problem
) -> LagChoice:
    """The lag of a plan, by its rule where it has one, from the first round's simulations."""
    if isinstance(plan.lag, int):
        return LagChoice(plan.lag, "it was given", {})
    series = plan.rows(simulated.series[: simulated.count])
    if plan.lag == "acf":
        return by_acf(max(problem.panel, key=len), series)
    there = np.isfinite(simulated.series[:, 0, 0])
    num_windows = int(np.isfinite(series).all(axis=2).sum())
    d_y, size = series.shape[2], simulated.z.shape[1]

    def evaluate(lag: int) -> tuple[float, int]:
        past = Past(lag, plan.decays, problem.d_u)
        rng = np.random.default_rng(0)  # the same series held out for every lag
        _, fit = learn(key, rng, simulated, there, scaling, plan, past, problem)
        if plan.lag == "validation":
            return fit.held_out_loss, 0
        density = plan.family.make(key, d_y, past, size)
        return fit.held_out_loss, num_weights(density, d_y, past, size)

    return by_score(plan.lag, series.shape[1], evaluate, num_windows)


def learn(
    key: Key[Array, ""],
    rng: np.random.Generator,
    simulated: Simulated,
    chosen: Bool[np.ndarray, " capacity"],
    scaling: Scaling,
    plan: Plan,
    past: Past,
    problem: Problem,
    effort: float = 1.0,
) -> tuple[Kernel, Fit]:
    """Fit a fresh kernel to the chosen series, in units of where the chosen parameters are."""
    dtype = jnp.result_type(float)
    z = simulated.z[chosen]
    centre = (z.mean(axis=0).astype(dtype), z.std(axis=0).astype(dtype) + dtype.type(1e-3))
    scaling = replace(scaling, z_mean=jnp.asarray(centre[0]), z_scale=jnp.asarray(centre[1]))
    rows = plan.rows(simulated.series)
    targets = np.isfinite(rows).all(axis=2) & chosen[:, None]
    options = plan.training
    use, held = split(rng, targets, options.num_members, options.held_out, past.lag)
    keys = jax.random.split(key, 3)
    seen = np.isfinite(rows)
    if plan.gaps:
        patterns = [np.isfinite(one) for one in problem.panel]
        seen &= gap_masks(rng, patterns, problem.length, len(rows))
    windows, theta = prepare(keys[2], *plan.arrays(simulated), seen, scaling, past, plan.dequantise)
    members = plan.family.start(keys[0], options.num_members, windows, theta, use, past)
    members, fit = train(keys[1], members, windows, theta, use, held, options, effort)
    return Kernel(members, scaling, past, Region.of(windows, targets), plan.gaps), fit


@eqx.filter_jit
def prepare(
    key: Key[Array, ""],
    series: Float[Array | np.ndarray, "N T d_y"],
    inputs: Float[Array | np.ndarray, "N T d_u"],
    z: Float[Array | np.ndarray, "N size"],
    seen: Bool[Array | np.ndarray, "N T d_y"],
    scaling: Scaling,
    past: Past,
    dequantise: bool,
) -> tuple[Windows, Float[Array, "N size"]]:
    """Standardised windows and parameters."""
    y = jnp.where(jnp.isfinite(series), series, 0.0)
    if dequantise:
        y += jax.random.uniform(key, y.shape, minval=-0.5, maxval=0.5)
    u = scaling.standardise_u(jnp.asarray(inputs))
    windows = Windows.of(scaling.standardise(y), jnp.asarray(seen), past, u)
    return windows, scaling.standardise_z(jnp.asarray(z))
