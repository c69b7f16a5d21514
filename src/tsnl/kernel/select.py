r"""How much a kernel knows of theta: a score of series that it has not seen.

A kernel is there to tell parameters apart. A better log-density of single rows need not do that, so
kernels are compared by how likely they make the parameters that a held-out series came from,

.. math::
    \log \frac{q(y \mid \theta)}{\frac1{K+1} \big(q(y \mid \theta) + \sum_k q(y \mid \theta_k)\big)},

the log of its posterior probability among K others, over 1 / (K + 1). Jacobians cancel: kernels on
different scales of y can be compared. Its expectation is largest for the true likelihood.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from tsnl.kernel.examples import Examples, Simulated
from tsnl.kernel.fitted import Kernel
from tsnl.kernel.learn import prepare, targets_of
from tsnl.kernel.split import split

NUM_OTHERS = 64
MOST_SERIES = 256


def theta_scores(
    key: Key[Array, ""],
    kernel: Kernel,
    simulated: Simulated,
    chosen: Bool[np.ndarray, " N"],
    others: Float[np.ndarray, "m size"],
    held_out: float,
) -> Float[np.ndarray, " n"]:
    """The score of each held-out series, by the member that did not see it.

    Args:
        key: a JAX random key.
        kernel: learned with `np.random.default_rng(0)` in the place of `rng`.
        simulated: the series.
        chosen: those that the kernel learned from.
        others: parameters to tell theirs from, near the posterior.
        held_out: share of the series that each member was held to.
    """
    spec = kernel.spec
    rows = targets_of(spec, simulated, chosen)
    _, held = split(np.random.default_rng(0), rows, spec.num_members, held_out, spec.lag)
    series = np.flatnonzero(held.any(axis=(0, 2)))[:MOST_SERIES]
    member = held.any(axis=2).argmax(axis=0)[series]
    seen = np.isfinite(spec.rows(simulated.series))
    examples = prepare(key, spec, kernel.scaling, simulated, seen)
    rng = np.random.default_rng(0)
    some = others[rng.choice(len(others), NUM_OTHERS)].astype(jnp.result_type(float))
    index = np.resize(series, MOST_SERIES), np.resize(member, MOST_SERIES)
    return np.asarray(_scores(kernel, examples, rows, *index, some), dtype=float)[: len(series)]


@eqx.filter_jit
def _scores(
    kernel: Kernel,
    examples: Examples,
    rows: Bool[Array | np.ndarray, "N T"],
    series: Int[Array | np.ndarray, " n"],
    member: Int[Array | np.ndarray, " n"],
    others: Float[Array | np.ndarray, "K size"],
) -> Float[Array, " n"]:
    arrays, static = eqx.partition(kernel.members, eqx.is_array)
    others = kernel.scaling.standardise_z(jnp.asarray(others))

    def one(now: tuple[Array, Array]) -> Array:
        i, m = now
        own = eqx.combine(jax.tree.map(lambda x: x[m], arrays), static)
        features = own.features(examples.y[i], examples.seen[i], examples.u[i])

        def total(theta: Array) -> Array:
            log_q = own.head.log_probs(examples.targets[i], features, theta)
            return jnp.sum(jnp.where(jnp.asarray(rows)[i], log_q, 0.0))

        values = jax.vmap(total)(jnp.concatenate([examples.theta[i][None], others]))
        return values[0] - jax.nn.logsumexp(values) + jnp.log(len(values))

    return jax.lax.map(one, (jnp.asarray(series), jnp.asarray(member)))
