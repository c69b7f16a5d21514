"""Is the lag long enough? The kernel learned again with twice the lag, on the same simulations."""

from dataclasses import replace

import numpy as np
from jaxtyping import Array, Bool, Float, Key
from scipy.special import stdtr

from tsnl.checks.draws import log_likelihoods, weighted_shift, weights
from tsnl.checks.verdict import FAIL_P, FAIL_SHIFT, LOOK_P, LOOK_SHIFT, Level, Verdict
from tsnl.kernel.examples import Simulated
from tsnl.kernel.held_out import held_out_scores
from tsnl.kernel.memory import Lags
from tsnl.kernel.stacked import parts_of
from tsnl.kernel.stacking import learn_stacked
from tsnl.kernel.training import Training
from tsnl.likelihood.surrogate import SurrogateLikelihood
from tsnl.posterior import Posterior
from tsnl.problem import Problem
from tsnl.runtime.reader import option

LOOK_NATS, FAIL_NATS = np.log(20.0), np.log(100.0)  # log-odds of the longer lag


def check_lag(
    key: Key[Array, ""],
    likelihood: SurrogateLikelihood,
    problem: Problem,
    simulated: Simulated,
    chosen: Bool[np.ndarray, " paths"],
    training: Training,
    z: Float[np.ndarray, "n size"],
) -> Verdict:
    """Held-out log-score and posterior, from L to 2L.

    Both lags are learned anew, from the same seed with the same series held out: what the posterior
    moves between the run's own kernel and the new one of the same lag is the noise of learning. Where
    networks with recurrent memories stand beside the lags, the longer lag is learned without them: it is
    worth something only where it foresees more than the kernel as it is.

    Args:
        key: a JAX random key.
        likelihood: the learned one.
        problem: the question.
        simulated: the simulations of the run.
        chosen: which of them the kernel learned from.
        training: how it was learned.
        z: unconstrained posterior draws.
    """
    old, alone = likelihood.kernel, parts_of(likelihood.kernel.spec)[0]
    longer = min(2 * old.spec.lag, problem.length - 1)
    memory = tuple(replace(m, lag=longer) if isinstance(m, Lags) else m for m in alone.memory)
    patterns = [np.isfinite(one) for one in problem.panel]
    given = (old.scaling, simulated, chosen, patterns, training)
    specs = old.spec, replace(alone, memory=memory)
    kernels = [learn_stacked(key, np.random.default_rng(0), spec, *given)[0] for spec in specs]
    ours, same, twice = (
        log_likelihoods(
            Posterior.learned(problem.prior, kernel, problem.panel, problem.inputs).likelihood, z
        )
        for kernel in (old, *kernels)
    )
    noise = weighted_shift(z, weights(ours - ours), weights(same - ours))
    moved = weighted_shift(z, weights(same - ours), weights(twice - ours))
    before, after = held_out_scores(key, kernels, simulated, chosen, training.held_out)
    return _verdict(old.spec.lag, longer, moved, noise, after - before, problem.length)


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
        f"Doubling the lag changes the held-out log-score by {gain:+.3f} per row and the posterior by "
        f"{moved:.2f} sd (retraining alone: {noise:.2f} sd)."
    )
    how = "" if level == "pass" else f"Raise lag to {longer}: {option('lag', longer)}."
    return Verdict("lag", level, sentence, how, figures)


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
