r"""Random-walk Metropolis on an estimate of the density: pseudo-marginal chains.

With an unbiased estimate \(\hat p(z)\) in the place of \(p(z)\), kept and not drawn again while a chain
stays where it is, the chain still converges to p itself (Andrieu and Roberts, 2009).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from tsnl.runtime.blocks import by_block
from tsnl.sampling.metropolis import accept

BLOCK = 100  # steps of one compiled call
POINTS = 64  # points of one compiled call
FLOOR = 1e-4  # share of the first covariance that stays in each later one: no chain freezes for good

LogDensity = Callable[[Key[Array, ""], Float[Array, " size"]], Float[Array, ""]]


class Chains(NamedTuple):
    """Where each chain is, and the estimated log-density that it was accepted with."""

    z: Float[Array, "chain size"]
    log_density: Float[Array, " chain"]


class Proposal(NamedTuple):
    r"""Steps \(z' = z + s L e\), \(e \sim N(0, I)\), \(L L^T\) the covariance that warm-up learned.

    Attributes:
        mean, covariance: of the target, as seen so far.
        first: covariance at the start.
        log_scale: logarithm of s.
    """

    mean: Float[Array, " size"]
    covariance: Float[Array, "size size"]
    first: Float[Array, "size size"]
    log_scale: Float[Array, ""]

    @staticmethod
    def of(mean: Float[Array, " size"], covariance: Float[Array, "size size"]) -> "Proposal":
        """The usual scale 2.38 / sqrt(size) for a first guess of the target."""
        return Proposal(mean, covariance, covariance, jnp.log(2.38 / jnp.sqrt(1.0 * mean.size)))

    def factor(self) -> Float[Array, "size size"]:
        """The Cholesky factor of a step, s L."""
        size = self.mean.size
        safe = self.covariance + FLOOR * self.first + 1e-10 * jnp.eye(size)
        return jnp.exp(self.log_scale) * jnp.linalg.cholesky(safe)


class Path(NamedTuple):
    """What chains did: axes (chain, step)."""

    z: Float[np.ndarray, "chain step size"]
    log_density: Float[np.ndarray, "chain step"]
    accepted: Float[np.ndarray, "chain step"]


def estimates(
    key: Key[Array, ""], log_density: LogDensity, z: Float[Array, "n size"]
) -> Float[np.ndarray, " n"]:
    """One estimate at each of at most POINTS points; the i-th draws with `fold_in(key, i)`."""
    n = len(z)
    if n > POINTS:
        raise ValueError(f"{n} points, expected at most {POINTS} in one call.")
    return by_block(lambda part: _estimates(key, log_density, part, jnp.asarray(n)), z, POINTS)


@eqx.filter_jit
def _estimates(
    key: Key[Array, ""], log_density: LogDensity, z: Any, n: Int[Array, ""]
) -> Float[Array, " points"]:
    return _each(key, log_density, jnp.asarray(z), n)


def advance(
    key: Key[Array, ""],
    log_density: LogDensity,
    chains: Chains,
    proposal: Proposal,
    first: int,
    last: int,
    *,
    rate: float | None = None,
) -> tuple[Chains, Proposal, Path]:
    """Steps `first` to `last - 1` of all chains, at most BLOCK of them, in one compiled scan.

    Args:
        key: a JAX random key; step t draws with `fold_in(key, t)`.
        log_density: the estimate; an `eqx.Module` with arrays in it is compiled once for all its values.
        chains: where they are.
        proposal: how they step.
        first: number of the first step, counted from the beginning of the warm-up.
        last: number of the step after the last.
        rate: the acceptance rate to steer to while learning; None leaves the proposal as it is.
    """
    if not 0 < last - first <= BLOCK:
        raise ValueError(f"{last - first} steps, expected 1 to {BLOCK} in one call.")
    wanted = jnp.asarray(-1.0 if rate is None else rate)
    bounds = jnp.asarray([first, last])
    chains, proposal, path = _advance(key, log_density, chains, proposal, bounds, wanted)
    kept = [np.swapaxes(np.asarray(x)[: last - first], 0, 1) for x in path]
    return chains, proposal, Path(*kept)


@eqx.filter_jit
def _advance(
    key: Key[Array, ""],
    log_density: LogDensity,
    chains: Chains,
    proposal: Proposal,
    bounds: Int[Array, "2"],
    rate: Float[Array, ""],
) -> tuple[Chains, Proposal, Any]:
    def step(carry: tuple[Chains, Proposal], t: Array) -> tuple[Any, Any]:
        def move() -> tuple[Chains, Proposal, Array]:
            chains, proposal = carry
            chains, accepted, chance = _metropolis(
                jax.random.fold_in(key, t), log_density, chains, proposal
            )
            learned = jax.lax.cond(
                rate > 0, lambda: _learn(proposal, chains, jnp.mean(chance) - rate, t), lambda: proposal
            )
            return chains, learned, accepted

        def stay() -> tuple[Chains, Proposal, Array]:
            return *carry, jnp.zeros(len(carry[0].z))

        # a step past the end runs no filter: blocks have one length, and are compiled once
        chains, proposal, accepted = jax.lax.cond(t < bounds[1], move, stay)
        return (chains, proposal), (chains.z, chains.log_density, accepted)

    (chains, proposal), path = jax.lax.scan(step, (chains, proposal), bounds[0] + jnp.arange(BLOCK))
    return chains, proposal, path


def _metropolis(
    key: Key[Array, ""], log_density: LogDensity, chains: Chains, proposal: Proposal
) -> tuple[Chains, Float[Array, " chain"], Float[Array, " chain"]]:
    """One step of each chain: where they are then, who moved, and with which probability."""
    key_move, key_estimate, key_accept = jax.random.split(key, 3)
    z = chains.z + jax.random.normal(key_move, chains.z.shape) @ proposal.factor().T
    new = _each(key_estimate, log_density, z, len(z))
    chains, moved, chance = accept(key_accept, new - chains.log_density, Chains(z, new), chains)
    return chains, jnp.asarray(moved, dtype=float), chance


def _learn(proposal: Proposal, chains: Chains, error: Float[Array, ""], t: Int[Array, ""]) -> Proposal:
    r"""Robbins-Monro steps of size \(t^{-0.6}\) for mean, covariance and scale, from all chains."""
    gain = (t + 10.0) ** -0.6
    apart = chains.z - proposal.mean
    scatter = apart.T @ apart / len(apart)
    return Proposal(
        proposal.mean + gain * jnp.mean(apart, axis=0),
        proposal.covariance + gain * (scatter - proposal.covariance),
        proposal.first,
        proposal.log_scale + jnp.clip(3.0 * gain * error, -0.5, 0.5),
    )


def _each(
    key: Key[Array, ""], log_density: LogDensity, z: Float[Array, "points size"], n: int | Int[Array, ""]
) -> Float[Array, " points"]:
    """Estimates at the first n points, one after the other; no filter runs at the rest.

    Under `vmap` a filter would resample at every step, needed or not, and run at every point.
    """

    def one(i: Array) -> Array:
        at = jax.random.fold_in(key, i)
        return jax.lax.cond(i < n, lambda: log_density(at, z[i]), lambda: jnp.asarray(-jnp.inf))

    return jax.lax.map(one, jnp.arange(len(z)))
