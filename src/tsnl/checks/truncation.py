"""Is the lag long enough? The kernel learned again with twice the lag, on the same simulations."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key
from scipy.special import stdtr

from tsnl.checks.draws import log_likelihoods, weighted_shift, weights
from tsnl.checks.verdict import FAIL_P, FAIL_SHIFT, LOOK_P, LOOK_SHIFT, Level, Verdict
from tsnl.kernel import Kernel
from tsnl.kernel.memory import Windows, split
from tsnl.methods.sequential.learning import Plan, learn, prepare
from tsnl.methods.sequential.simulated import Simulated, choose
from tsnl.problem import Problem

LOOK_NATS, FAIL_NATS = np.log(20.0), np.log(100.0)  # log-odds of the longer lag


def check_lag(
    key: Key[Array, ""], result: Any, simulated: Simulated, z: Float[np.ndarray, "n size"]
) -> Verdict:
    """Held-out log-score and posterior, from L to 2L.

    Both lags are learned anew, from the same seed with the same series held out: what the posterior
    moves between the run's own kernel and the new one of the same lag is the noise of learning.

    Args:
        key: a JAX random key.
        result: a `Result` with a kernel.
        simulated: its simulations.
        z: its unconstrained draws.
    """
    problem, likelihood = result.problem, result.posterior.likelihood
    plan = result.method.plan(problem)
    old = likelihood.kernel
    longer = min(2 * old.past.lag, problem.length - 1)
    kernels = [_refit(key, plan, simulated, old, lag, problem) for lag in (old.past.lag, longer)]
    ours, same, twice = (
        log_likelihoods(plan.likelihood(kernel, problem), z) for kernel in (old, *kernels)
    )
    noise = weighted_shift(z, weights(ours - ours), weights(same - ours))
    moved = weighted_shift(z, weights(same - ours), weights(twice - ours))
    gains = _gains(key, plan, simulated, kernels, problem)
    return _verdict(old.past.lag, longer, moved, noise, gains, problem.length)


def _verdict(
    lag: int, longer: int, moved: float, noise: float, gains: Float[np.ndarray, " n"], length: int
) -> Verdict:
    gain, p = float(gains.mean()), _p_value(gains)
    level = _level(moved, noise, gain * length, p)
    figures = {
        "lag": lag,
        "longer_lag": longer,
        "gain": gain,
        "gain_of_a_series": gain * length,
        "p_value": p,
        "shift": moved,
        "noise": noise,
        "num_series": len(gains),
    }
    sentence = (
        f"Twice the lag changes the held-out log-score by {gain:+.3f} a row and moves the posterior by "
        f"{moved:.2f} sd, learning anew by {noise:.2f}."
    )
    remedy = "" if level == "pass" else f"Raise lag to {longer}."
    return Verdict("lag", level, sentence, remedy, figures)


def _level(moved: float, noise: float, nats: float, p: float) -> Level:
    """A gain that is no accident, and what it does to the posterior beyond the noise of learning.

    It fails where the posterior moves by a whole sd, or by half of one while a series of this length
    has odds of a hundred to one for the longer lag. Odds of twenty to one are worth a look.
    """
    beyond = moved if moved > noise else 0.0
    if p < FAIL_P and (beyond >= FAIL_SHIFT or (beyond >= LOOK_SHIFT and nats >= FAIL_NATS)):
        return "fail"
    return "look" if p < LOOK_P and (beyond >= LOOK_SHIFT or nats >= LOOK_NATS) else "pass"


def _p_value(gains: Float[np.ndarray, " n"]) -> float:
    """Of no gain, one-sided, over series."""
    error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.inf
    return float(stdtr(max(len(gains) - 1, 1), -gains.mean() / (error + 1e-12)))


def _chosen(plan: Plan, simulated: Simulated, problem: Problem) -> Bool[np.ndarray, " capacity"]:
    return choose(plan.strategy, simulated, problem, plan.simulations)


def _refit(
    key: Key[Array, ""], plan: Plan, simulated: Simulated, old: Kernel, lag: int, problem: Problem
) -> Kernel:
    chosen, past = _chosen(plan, simulated, problem), replace(old.past, lag=lag)
    rng = np.random.default_rng(0)
    return learn(key, rng, simulated, chosen, old.scaling, plan, past, problem)[0]


def _gains(
    key: Key[Array, ""], plan: Plan, simulated: Simulated, kernels: list[Kernel], problem: Problem
) -> Float[np.ndarray, " n"]:
    """Of each held-out series: log-score a row of the second kernel minus the first's."""
    chosen, rows = _chosen(plan, simulated, problem), plan.rows(simulated.series)
    targets = np.isfinite(rows).all(axis=2) & chosen[:, None]
    options = plan.training
    lag = kernels[0].past.lag  # it matters to a single series only
    _, held = split(np.random.default_rng(0), targets, options.num_members, options.held_out, lag)
    scores = []
    for kernel in kernels:
        windows, theta = prepare(
            key, *plan.arrays(simulated), np.isfinite(rows), kernel.scaling, kernel.past, plan.dequantise
        )
        scores.append(np.asarray(_scores(kernel, windows, theta)))
    gain = np.where(held, scores[1] - scores[0], 0.0).sum(axis=(0, 2))
    count = held.sum(axis=(0, 2))
    return gain[count > 0] / count[count > 0]


@eqx.filter_jit
def _scores(kernel: Kernel, windows: Windows, theta: Float[Array, "N size"]) -> Float[Array, "M N T"]:
    """The log-density of every window by every member, in standardised units."""
    length = windows.y.shape[1]

    def one(now: tuple[Array, Array]) -> Float[Array, "M T"]:
        series, point = now
        y, context = windows.take(jnp.full(length, series), jnp.arange(length))
        return kernel.member_log_probs(y, context, point)

    log_q = jax.lax.map(one, (jnp.arange(len(theta)), theta), batch_size=4)
    return jnp.swapaxes(log_q, 0, 1)
