r"""One step ahead along the observed series: what the posterior predictive kernel says of each row.

\(q(y_t \mid y_{<t}) = \int q(y_t \mid y_{<t}, \theta) \, p(\theta \mid y_{1:T}) \, d\theta\). The
posterior has seen the whole series, so the values are a little too good: a test of them is cautious.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.kernel.heads.base import HasConditionals, Head
from tsnl.likelihood.surrogate import SurrogateLikelihood
from tsnl.runtime.compilation import compiled_lightly

NUM_THINNED = 100  # posterior draws in the average
BATCH = 10  # of them side by side; it divides their number, else a second program is made for the rest
NUM_SIMULATED = 999  # draws of each row, where the family has no distribution function


@dataclass(frozen=True)
class OneStep:
    """What the predictive kernel says of each observed row.

    Attributes:
        time: t of each row that counts, from 1.
        pit: the probability below each entry, given the entries before it in its row where the family
            has conditionals, else by itself; uniform and independent where all is right.
        tail: twice the smaller of the probabilities below and above.
        log_score: log-density of each row, in the user's units.
    """

    time: np.ndarray
    pit: Float[np.ndarray, "rows d_y"]
    tail: Float[np.ndarray, "rows d_y"]
    log_score: Float[np.ndarray, " rows"]


def one_step(
    key: Key[Array, ""],
    likelihood: SurrogateLikelihood,
    series: Float[np.ndarray, "T d_y"],
    z: Float[np.ndarray, "n size"],
) -> OneStep:
    """PIT values, tails and log-scores.

    Args:
        key: a JAX random key.
        likelihood: the kernel on the observed series.
        series: the same series, in the user's units.
        z: unconstrained posterior draws of equal weight.

    Of an integer-valued y, a PIT value is drawn evenly from its step.
    """
    key_noise, key_draw, key_tie = jax.random.split(key, 3)
    kernel, points = likelihood.kernel, jnp.asarray(z)
    rows = jnp.asarray(series, dtype=likelihood.log_jacobian.dtype)
    if any(kernel.spec.integer) and not kernel.spec.discrete:
        noise = jax.random.uniform(key_noise, rows.shape, minval=-0.5, maxval=0.5)
        rows += jnp.where(np.array(kernel.spec.integer), noise, 0.0)
    tie = jax.random.uniform(key_tie, rows.shape)  # the place in the step of a count, or between draws
    if isinstance(kernel.members.head, HasConditionals):
        below, above = _exact(likelihood, kernel.targets(rows), points)
    else:
        draws, targets = (
            _draw(key_draw, likelihood, points, NUM_SIMULATED),
            kernel.scaling.standardise(rows),
        )
        below, above = (x.sum(axis=0) / (NUM_SIMULATED + 1) for x in (draws < targets, draws > targets))
    step = 1 - below - above
    below, above = below + tie * step, above + (1 - tie) * step
    there = np.asarray(likelihood.targets)
    below, above = (np.asarray(x, dtype=float)[there] for x in (below, above))
    return OneStep(
        time=np.flatnonzero(there) + 1,
        pit=np.where(below < 0.5, below, 1 - above).clip(0.0, 1.0),
        tail=(2 * np.minimum(below, above)).clip(0.0, 1.0),
        log_score=np.asarray(_log_scores(likelihood, points), dtype=float)[there],
    )


def predictive_draws(
    key: Key[Array, ""], likelihood: SurrogateLikelihood, z: Float[np.ndarray, "n size"], count: int
) -> Float[np.ndarray, "count T d_y"]:
    """Draws of each row given the observed rows before it, in the user's units."""
    draws = _draw(key, likelihood, jnp.asarray(z), count)
    return np.asarray(likelihood.kernel.restore(draws))


def _conditional(head: Head) -> HasConditionals:
    assert isinstance(head, HasConditionals)
    return head


@compiled_lightly
def _exact(
    likelihood: SurrogateLikelihood, targets: Float[Array, "T entries"], z: Float[Array, "n size"]
) -> tuple[Float[Array, "T d_y"], Float[Array, "T d_y"]]:
    """Probabilities below and above, averaged over draws and members.

    Each has the weight of how well it foresaw the entries before in the same row.
    """
    kernel = likelihood.kernel

    def one(point: Array) -> tuple[Array, Array, Array]:
        theta = kernel.scaling.standardise_z(point)
        thetas = jnp.broadcast_to(theta, (len(targets), theta.shape[0]))
        return kernel.each_head(
            lambda head, c: _conditional(head).conditionals(targets, c, thetas), likelihood.features
        )

    log_q, below, above = jax.lax.map(one, z, batch_size=BATCH)  # (n, M, T, d_y)
    before = jnp.cumsum(log_q, axis=-1) - log_q
    share = jax.nn.softmax(before, axis=(0, 1))
    return (share * below).sum(axis=(0, 1)), (share * above).sum(axis=(0, 1))


@compiled_lightly
def _draw(
    key: Key[Array, ""], likelihood: SurrogateLikelihood, z: Float[Array, "n size"], count: int
) -> Float[Array, "count T d_y"]:
    kernel, length = likelihood.kernel, len(likelihood.y)

    def one(i: Array) -> Float[Array, "T d_y"]:
        theta = kernel.scaling.standardise_z(z[i % len(z)])
        keys = jax.random.split(jax.random.fold_in(key, i), length)
        return jax.vmap(lambda k, c: kernel.sample(k, c, theta), in_axes=(0, 1))(
            keys, likelihood.features
        )

    return jax.lax.map(one, jnp.arange(count), batch_size=16)


@compiled_lightly
def _log_scores(likelihood: SurrogateLikelihood, z: Float[Array, "n size"]) -> Float[Array, " T"]:
    log_q = jax.lax.map(likelihood.factors, z, batch_size=BATCH)
    return jax.nn.logsumexp(log_q, axis=0) - jnp.log(len(z))
