"""The accept step of Metropolis-Hastings, and chains that it left behind."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key, PyTree


def accept(
    key: Key[Array, ""], log_ratio: Float[Array, " chain"], proposed: PyTree, current: PyTree
) -> tuple[PyTree, Bool[Array, " chain"], Float[Array, " chain"]]:
    r"""Each chain takes its proposal with probability \(\min(1, e^{r})\), r its log-ratio.

    Args:
        key: a JAX random key.
        log_ratio: \(\log \pi(z') q(z \mid z') - \log \pi(z) q(z' \mid z)\); NaN, as between two
            impossible points, is a rejection.
        proposed: arrays with a leading axis of chains.
        current: the same where the chains are.

    Returns:
        Where they are then, which moved, and with which probability.
    """
    probability = jnp.exp(jnp.minimum(jnp.where(jnp.isnan(log_ratio), -jnp.inf, log_ratio), 0.0))
    moved = jax.random.uniform(key, log_ratio.shape) < probability

    def pick(new: Array, old: Array) -> Array:
        return jnp.where(moved.reshape(-1, *(1 for _ in new.shape[1:])), new, old)

    return jax.tree.map(pick, proposed, current), moved, probability


def rescue(key: Key[Array, ""], chains: Any, slack: float = 0.0) -> tuple[Any, int]:
    """Move chains that are stuck in a far tail onto good ones; how many were.

    A chain of a unimodal posterior in `size` dimensions lies within a few nats of the others; one that
    is 15 + 3 size nats below the best has not found the mass.

    Args:
        key: a JAX random key.
        chains: a tuple of arrays with a leading axis of chains, `z` and `log_density` among them.
        slack: nats more, for the noise of estimated log-densities.

    Raises:
        FloatingPointError: no chain has a finite log-density.
    """
    values = np.asarray(chains.log_density)
    stuck = ~(values > values.max() - 15.0 - 3.0 * chains.z.shape[1] - slack)
    if not stuck.any():
        return chains, 0
    if stuck.all():
        raise FloatingPointError(
            "No Markov chain found a point of finite posterior density. The prior and the series may "
            "contradict each other: compare prior simulations with the series."
        )
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    index = np.where(stuck, rng.choice(np.flatnonzero(~stuck), len(stuck)), np.arange(len(stuck)))
    return jax.tree.map(lambda x: np.asarray(x)[index], chains), int(stuck.sum())
