"""Draws of theta and of z: from one to the other, and few that stand for many."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int

from tsnl.problem.prior import Prior
from tsnl.runtime.checked import whole_number


def constrained(prior: Prior, z: Float[np.ndarray, "chain draw size"]) -> dict[str, np.ndarray]:
    """Draws of z as draws of theta: name to array (chain, draw, *event)."""
    theta = prior.constrain_all(z.reshape(-1, z.shape[-1]))
    return {name: value.reshape(*z.shape[:2], *value.shape[1:]) for name, value in theta.items()}


def unconstrained(prior: Prior, draws: Mapping[str, np.ndarray]) -> Float[np.ndarray, "chain draw size"]:
    """Draws of theta, name to array (chain, draw, *event), as the sampler saw them."""
    shape = next(iter(draws.values())).shape[:2]
    flat = {name: value.reshape(-1, *value.shape[2:]) for name, value in draws.items()}
    return prior.unconstrain_all(flat, check=False).reshape(*shape, -1)


def thin(draws: Mapping[str, np.ndarray], n: int) -> dict[str, np.ndarray]:
    """So many draws (n, *event), evenly out of draws (chain, draw, *event), repeated if too few.

    Raises:
        ValueError: none are asked for.
    """
    n = whole_number("num_draws", n, 1)
    flat = {name: x.reshape(-1, *x.shape[2:]) for name, x in draws.items()}
    place = evenly(len(next(iter(flat.values()))), n)
    return {name: x[place] for name, x in flat.items()}


def thinned(z: Float[np.ndarray, "chain draw size"], most: int) -> Float[np.ndarray, "n size"]:
    """At most so many draws, evenly out of all chains, none of them twice."""
    flat = z.reshape(-1, z.shape[-1])
    return flat[evenly(len(flat), min(most, len(flat)))]


def evenly(count: int, n: int) -> Int[np.ndarray, " n"]:
    """Places of n out of `count` draws, the middle of each of n equal parts."""
    return (2 * np.arange(n) + 1) * count // (2 * n)
