"""Two kernels learned side by side, and weighted by how well they foresee what neither has seen.

The weights are those of largest held-out log-score of the mixture of both densities (Yao, Vehtari,
Simpson and Gelman, 2018, "Using stacking to average Bayesian predictive distributions").
"""

import copy
import warnings
from collections.abc import Sequence
from dataclasses import replace

import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Key
from scipy.special import logsumexp

from tsnl.kernel.ensemble import Fit
from tsnl.kernel.examples import Simulated
from tsnl.kernel.fitted import Kernel
from tsnl.kernel.held_out import held_out_rows, held_out_series
from tsnl.kernel.learn import learn
from tsnl.kernel.member import KernelSpec
from tsnl.kernel.scaling import Scaling
from tsnl.kernel.stacked import parts_of, stacked
from tsnl.kernel.training import Training

STEPS = 200  # of the iteration for the weights
LEAST = 1e-3  # weight of either
EPOCHS, MORE, RATE = 1.5, 10 / 3, 1.2  # of networks, over those of mixtures: epochs, steps, step size
LONGER = 2.0  # most steps


def learn_stacked(
    key: Key[Array, ""],
    rng: np.random.Generator,
    spec: KernelSpec,
    scaling: Scaling,
    simulated: Simulated,
    chosen: Bool[np.ndarray, " paths"],
    patterns: Sequence[Bool[np.ndarray, "_ columns"]],
    training: Training,
    effort: float = 1.0,
) -> tuple[Kernel, Fit]:
    """Fit a fresh kernel, and where it is a stack, its parts and their weights; arguments as in `learn`.

    Where the networks diverge, the kernel is the first part alone, and a warning says so.
    """
    given = (scaling, simulated, chosen, patterns)
    first_spec, *others = parts_of(spec)
    before = [copy.deepcopy(rng) for _ in range(2)]
    first, fit = learn(key, rng, first_spec, *given, training, effort)
    if not others:
        return first, fit
    keys = jax.random.split(jax.random.fold_in(key, 1))
    try:
        options = training_of_networks(training, others[0].num_members)
        second, further = learn(keys[0], before[0], others[0], *given, options, effort)
    except FloatingPointError as error:
        warnings.warn(f"{error} The networks are left out.", stacklevel=2)
        return first, fit
    kernels, specs = (first, second), (first.spec, second.spec)
    held = held_out_series(before[1], specs, simulated, chosen, training.held_out)
    rows = np.stack([held_out_rows(keys[1], one, simulated, held)[held.rows] for one in kernels])
    log_weights = stacking_weights(rows)
    gain = float((logsumexp(rows + log_weights[:, None], axis=0) - rows[0]).mean())
    both = fit._replace(
        held_out_loss=fit.held_out_loss - gain,
        num_steps=fit.num_steps + further.num_steps,
        num_retries=fit.num_retries + further.num_retries,
        num_left_out=fit.num_left_out + further.num_left_out,
        weights=tuple(np.exp(log_weights).tolist()),
    )
    return stacked(spec, first, second, log_weights), both


def stacking_weights(log_q: Float[np.ndarray, "kernels rows"]) -> Float[np.ndarray, " kernels"]:
    """The log of the weights of largest log-score, by expectation and maximisation."""
    log_q = log_q[:, np.isfinite(log_q).any(axis=0)]
    weights = np.full(len(log_q), 1 / len(log_q))
    for _ in range(STEPS if log_q.size else 0):
        joint = np.log(weights)[:, None] + log_q
        shares = np.exp(joint - logsumexp(joint, axis=0))
        weights = np.maximum(shares.mean(axis=1), LEAST)
        weights /= weights.sum()
    return np.log(weights)


def training_of_networks(training: Training, count: int) -> Training:
    """More and larger steps: networks start at random, mixtures at their regression."""
    least = round(MORE * training.min_steps)
    return replace(
        training,
        num_members=count,
        num_epochs=EPOCHS * training.num_epochs,
        min_steps=least,
        max_steps=max(least, round(LONGER * training.max_steps)),
        learning_rate=RATE * training.learning_rate,
    )
