r"""Pseudo-marginal chains whose proposals have passed a cheap density first: delayed acceptance.

A step hops a few times by random-walk Metropolis on a cheap density f, which leaves f as it is, from z
to z'. Then z' is accepted with probability

.. math::
    \min\Big\{1, \frac{\hat p(z') / f(z')}{\hat p(z) / f(z)}\Big\},

\(\hat p\) an unbiased estimate of the target, kept while the chain stays. The chain converges to the
target itself, whatever f is (Christen and Fox, 2005; Liu, 2001, surrogate transitions; Andrieu and
Roberts, 2009), and a proposal that f sends back costs no estimate.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from tsnl.sampling.metropolis import accept
from tsnl.sampling.pseudo_marginal import BLOCK, LogDensity, Path

Cheap = Callable[[Float[Array, " size"]], Float[Array, ""]]


class Walkers(NamedTuple):
    """Where each chain is, its cheap log-density, and the estimate it was accepted with."""

    z: Float[Array, "chain size"]
    cheap: Float[Array, " chain"]
    log_density: Float[Array, " chain"]


class Steps(NamedTuple):
    """What chains did, and how many estimates it took."""

    path: Path
    num_estimates: int


def advance(
    key: Key[Array, ""],
    cheap: Cheap,
    log_density: LogDensity,
    walkers: Walkers,
    factor: Float[Array, "size size"],
    first: int,
    last: int,
    *,
    num_hops: int,
) -> tuple[Walkers, Steps]:
    """Steps `first` to `last - 1` of all chains, at most BLOCK of them, in one compiled scan.

    Args:
        key: a JAX random key; step t draws with `fold_in(key, t)`.
        cheap: the log-density that proposals must pass first, known up to a constant.
        log_density: the estimate of the target.
        walkers: where the chains are.
        factor: the Cholesky factor of a hop.
        first: number of the first step.
        last: number of the step after the last.
        num_hops: hops of a step.
    """
    if not 0 < last - first <= BLOCK:
        raise ValueError(f"{last - first} steps, expected 1 to {BLOCK} in one call.")
    bounds = jnp.asarray([first, last])
    walkers, (path, runs) = _advance(key, cheap, log_density, walkers, factor, bounds, num_hops)
    kept = [np.swapaxes(np.asarray(x)[: last - first], 0, 1) for x in path]
    return walkers, Steps(Path(*kept), int(np.asarray(runs).sum()))


@eqx.filter_jit
def _advance(
    key: Key[Array, ""],
    cheap: Cheap,
    log_density: LogDensity,
    walkers: Walkers,
    factor: Float[Array, "size size"],
    bounds: Int[Array, "2"],
    num_hops: int,
) -> tuple[Walkers, Any]:
    def step(walkers: Walkers, t: Array) -> tuple[Walkers, Any]:
        def move() -> tuple[Walkers, Array, Array]:
            return _step(jax.random.fold_in(key, t), cheap, log_density, walkers, factor, num_hops)

        def stay() -> tuple[Walkers, Array, Array]:
            return walkers, jnp.zeros(len(walkers.z)), jnp.asarray(0)

        walkers, moved, runs = jax.lax.cond(t < bounds[1], move, stay)
        return walkers, ((walkers.z, walkers.log_density, moved), runs)

    return jax.lax.scan(step, walkers, bounds[0] + jnp.arange(BLOCK))


def _step(
    key: Key[Array, ""],
    cheap: Cheap,
    log_density: LogDensity,
    walkers: Walkers,
    factor: Float[Array, "size size"],
    num_hops: int,
) -> tuple[Walkers, Float[Array, " chain"], Int[Array, ""]]:
    """One step of each chain: where they are then, who moved, and the estimates it took."""
    key_hops, key_estimate, key_accept = jax.random.split(key, 3)
    (z, value), hopped = _hop(key_hops, cheap, (walkers.z, walkers.cheap), factor, num_hops)

    def one(i: Array) -> Array:
        at = jax.random.fold_in(key_estimate, i)
        return jax.lax.cond(hopped[i], lambda: log_density(at, z[i]), lambda: jnp.asarray(-jnp.inf))

    new = jax.lax.map(one, jnp.arange(len(z)))  # one after the other: no filter runs where none hopped
    ratio = (new - value) - (walkers.log_density - walkers.cheap)
    walkers, moved, _ = accept(key_accept, ratio, Walkers(z, value, new), walkers)
    return walkers, jnp.asarray(moved, dtype=float), jnp.sum(hopped)


def _hop(
    key: Key[Array, ""],
    cheap: Cheap,
    at: tuple[Float[Array, "chain size"], Float[Array, " chain"]],
    factor: Float[Array, "size size"],
    num_hops: int,
) -> tuple[tuple[Array, Array], Array]:
    """A few random-walk steps on the cheap density, and which chains they moved at all."""

    def hop(carry: tuple[Array, Array], t: Array) -> tuple[tuple[Array, Array], Array]:
        z, value = carry
        key_move, key_accept = jax.random.split(jax.random.fold_in(key, t))
        proposed = z + jax.random.normal(key_move, z.shape) @ factor.T
        new = jax.vmap(cheap)(proposed)
        carry, moved, _ = accept(key_accept, new - value, (proposed, new), carry)
        return carry, moved

    at, moved = jax.lax.scan(hop, at, jnp.arange(num_hops))
    return at, jnp.any(moved, axis=0)
