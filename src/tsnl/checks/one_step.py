r"""One step ahead along the observed series: what the posterior predictive kernel says of each row.

\(q(y_t \mid y_{<t}) = \int q(y_t \mid y_{<t}, \theta) \, p(\theta \mid y_{1:T}) \, d\theta\). The
posterior has seen the whole series, so the values are a little too good: a test of them is cautious.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from tsnl.kernel.heads.base import HasConditionals, Head
from tsnl.likelihood.surrogate import SurrogateLikelihood
from tsnl.runtime.compilation import compiled_lightly

NUM_THINNED = 100  # posterior draws in the average
BATCH = 10  # of them side by side; it divides their number, else a second program is made for the rest
NUM_SIMULATED = 999  # draws of each row, where the family has no distribution function
ROWS = 256  # of one compiled call, where there are more


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
    exact = isinstance(kernel.members.head, HasConditionals)
    targets = kernel.targets(rows) if exact else kernel.scaling.standardise(rows)
    parts = []
    for index, part in _blocks(likelihood):
        if exact:
            parts.append(_exact(part, targets[index], points))
        else:
            draws = _draw(key_draw, part, points, NUM_SIMULATED, index, len(rows))
            less, more = (draws < targets[index]).sum(axis=0), (draws > targets[index]).sum(axis=0)
            parts.append((less / (NUM_SIMULATED + 1), more / (NUM_SIMULATED + 1)))
    below, above = (jnp.concatenate(pieces)[: len(rows)] for pieces in zip(*parts, strict=True))
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
    points, length = jnp.asarray(z), len(likelihood.y)
    parts = [
        np.asarray(likelihood.kernel.restore(_draw(key, part, points, count, index, length)))
        for index, part in _blocks(likelihood)
    ]
    return np.concatenate(parts, axis=1)[:, :length]


def _blocks(
    likelihood: SurrogateLikelihood,
) -> Iterator[tuple[Int[np.ndarray, " rows"], SurrogateLikelihood]]:
    """The rows of a series, and the likelihood of them alone, so many at a time.

    The last row is repeated until the last block is full. What is computed for each row and each of
    many draws takes no more memory along a long series than along a short one.
    """
    length = len(likelihood.y)
    if length <= ROWS:
        yield np.arange(length), likelihood
        return
    for start in range(0, length, ROWS):
        index = np.minimum(start + np.arange(ROWS), length - 1)
        names = ("y", "targets", "log_jacobian")
        own = {name: getattr(likelihood, name)[index] for name in names}
        yield index, replace(likelihood, **own, features=likelihood.features[:, index])


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
    key: Key[Array, ""],
    likelihood: SurrogateLikelihood,
    z: Float[Array, "n size"],
    count: int,
    index: Int[Array | np.ndarray, " rows"],
    length: int,
) -> Float[Array, "count rows d_y"]:
    """Draws of some rows of a series of this length, standardised."""
    kernel = likelihood.kernel

    def one(i: Array) -> Float[Array, "rows d_y"]:
        theta = kernel.scaling.standardise_z(z[i % len(z)])
        keys = jax.random.split(jax.random.fold_in(key, i), length)[jnp.asarray(index)]
        return jax.vmap(lambda k, c: kernel.sample(k, c, theta), in_axes=(0, 1))(
            keys, likelihood.features
        )

    return jax.lax.map(one, jnp.arange(count), batch_size=16)


@compiled_lightly
def _log_scores(likelihood: SurrogateLikelihood, z: Float[Array, "n size"]) -> Float[Array, " T"]:
    log_q = jax.lax.map(likelihood.factors, z, batch_size=BATCH)
    return jax.nn.logsumexp(log_q, axis=0) - jnp.log(len(z))
