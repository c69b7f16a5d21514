r"""How much a kernel knows of theta: a score of series that it has not seen.

A kernel is there to tell parameters apart. A better log-density of single rows need not do that, so
kernels are compared by how likely they make the parameters that a held-out series came from,

.. math::
    \log \frac{q(y \mid \theta)}{\frac1{K+1} \big(q(y \mid \theta) + \sum_k q(y \mid \theta_k)\big)},

the log of its posterior probability among K others, over 1 / (K + 1). Jacobians cancel: kernels on
different scales of y can be compared. Its expectation is largest for the true likelihood.

The same score says how far a kernel can be trusted: with \(q^\beta\) in the place of q, it is largest at
\(\beta = 1\) for the true likelihood, and below for a kernel that is too sure of itself.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key
from scipy.special import logsumexp

from tsnl.kernel.examples import Examples, Simulated
from tsnl.kernel.fitted import Kernel
from tsnl.kernel.held_out import (
    MOST_SERIES,
    HeldOut,
    held_out_series,
    rows_by,
    some_examples,
)
from tsnl.kernel.learn import targets_of
from tsnl.kernel.scaling import Scaling
from tsnl.kernel.stacked import Part, unstacked

NUM_OTHERS = 64
SUPPORT = 20  # simulated parameters
POWERS = np.geomspace(1.0, 0.01, 14)  # of the likelihood, that are tried


def theta_scores(
    key: Key[Array, ""],
    rng: np.random.Generator,
    kernel: Kernel,
    simulated: Simulated,
    chosen: Bool[np.ndarray, " paths"],
    held_out: float,
) -> Float[np.ndarray, " n"]:
    """The score of each held-out series, by the member that did not see it.

    Args:
        key: a JAX random key.
        rng: as it was before the kernel was learned with it: it gives the same split.
        kernel: the kernel.
        simulated: the series.
        chosen: those that the kernel learned from, from whose parameters each series' is to be told.
        held_out: share of the series that each member was held to.
    """
    return _score(_log_likelihoods(key, rng, kernel, simulated, chosen, held_out), 1.0)


def trusted_power(
    key: Key[Array, ""],
    rng: np.random.Generator,
    kernel: Kernel,
    simulated: Simulated,
    chosen: Bool[np.ndarray, " paths"],
    held_out: float,
) -> float:
    """How far held-out series trust a kernel; the arguments are those of `theta_scores`.

    They are of all parameters simulated so far, many of them far from where the observed series is.
    """
    return calibrated_power(_log_likelihoods(key, rng, kernel, simulated, chosen, held_out))


def calibrated_power(values: Float[np.ndarray, "n others"]) -> float:
    r"""The largest power \(\beta \le 1\) of the likelihood that held-out series do not speak against.

    That is, whose mean score is within a standard error of the best.

    Args:
        values: the log-likelihood of each series at its own parameters, and at others.
    """
    values = values[np.isfinite(values).all(axis=1)]
    if len(values) < 2:
        return 1.0
    scores = np.array([_score(values, power) for power in POWERS])
    lead = scores[scores.mean(axis=1).argmax()] - scores
    error = lead.std(axis=1) / np.sqrt(lead.shape[1] - 1)
    return float(POWERS[np.argmax(lead.mean(axis=1) <= error)])


def supported_power(log_likelihoods: Float[np.ndarray, " n"]) -> float:
    """The largest power that leaves `SUPPORT` simulated parameters effective, or a fifth of few.

    A posterior that hardly any simulated parameters are in rests on what a kernel says where it has
    seen nothing.
    """
    found = log_likelihoods[np.isfinite(log_likelihoods)]
    needed = min(SUPPORT, len(log_likelihoods) / 5)
    for power in POWERS[: len(POWERS) if len(found) else 0]:
        weights = np.exp(power * (found - found.max()))
        if weights.sum() ** 2 >= needed * (weights**2).sum():
            return float(power)
    return float(POWERS[-1])


def _score(values: Float[np.ndarray, "n others"], power: float) -> Float[np.ndarray, " n"]:
    """Of the first of some log-likelihoods, raised to a power, among all."""
    values = power * values
    return values[:, 0] - logsumexp(values, axis=1) + np.log(values.shape[1])


def _log_likelihoods(
    key: Key[Array, ""],
    rng: np.random.Generator,
    kernel: Kernel,
    simulated: Simulated,
    chosen: Bool[np.ndarray, " paths"],
    held_out: float,
) -> Float[np.ndarray, "n others"]:
    """Of each held-out series at its own parameters, and at others."""
    held = held_out_series(rng, [kernel.spec], simulated, chosen, held_out)
    rows = targets_of(kernel.spec, simulated, chosen)
    most = min(MOST_SERIES, len(rows))  # one shape in all rounds
    wanted = HeldOut(*(np.resize(x, (most, *x.shape[1:])) for x in held))
    examples = some_examples(key, kernel, simulated, wanted)
    others, pick = simulated.z[: len(chosen)][chosen], np.random.default_rng(0)
    some = others[pick.choice(len(others), NUM_OTHERS)].astype(jnp.result_type(float))
    given = (examples, rows[wanted.series], wanted.member, kernel.scaling, some)
    return np.asarray(_evaluate(unstacked(kernel), *given), dtype=float)[: len(held.series)]


@eqx.filter_jit
def _evaluate(
    parts: tuple[Part, ...],
    examples: Examples,
    rows: Bool[Array | np.ndarray, "n T"],
    member: Int[Array | np.ndarray, " n"],
    scaling: Scaling,
    others: Float[Array | np.ndarray, "K size"],
) -> Float[Array, "n others"]:
    others = scaling.standardise_z(jnp.asarray(others))

    def one(now: tuple[Examples, Array, Array]) -> Array:
        example, there, m = now
        log_q = rows_by(parts, example, m)
        places = jnp.concatenate([example.theta[None], others])
        return jax.vmap(lambda theta: jnp.sum(jnp.where(there, log_q(theta), 0.0)))(places)

    return jax.lax.map(one, (examples, jnp.asarray(rows), jnp.asarray(member)))
