"""The weights of a component before training."""

import itertools
from math import comb
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.kernel.heads.regression import Part, num_terms

STEEP = 1.5  # size of a bent combination of features of unit size, at the start


class Sizes(NamedTuple):
    """What a family says of its weights; see `Mixture`."""

    num_components: int
    width: int
    depth: int
    curved: bool
    bends: int


def fresh_part(
    key: Key[Array, ""], counts: Float[Array, " before"], sizes: Sizes, count: int, size: int
) -> Part:
    """Weights at their start: regressions at zero, the network random with a small last layer."""
    keys = jax.random.split(key, sizes.depth + 1)
    p, p2 = num_terms(size, sizes.curved), 1 + size + comb(size + 1, 2)
    k, bends, before = sizes.num_components, sizes.bends, len(counts)
    inputs = jnp.concatenate([jnp.ones(count), counts, jnp.ones(size)])
    widths = [len(inputs), *[sizes.width] * sizes.depth]
    pairs = itertools.pairwise(widths) if sizes.width else ()
    used = itertools.chain([inputs], itertools.repeat(jnp.ones(sizes.width)))
    layers = [
        (jax.random.normal(k, pair) * (x / jnp.sqrt(jnp.sum(x)))[:, None], jnp.zeros(pair[1]))
        for k, pair, x in zip(keys, pairs, used, strict=False)
    ]
    key_slope, key_place = jax.random.split(jax.random.fold_in(key, 1))
    slopes = STEEP * jax.random.normal(key_slope, (count, bends)) / np.sqrt(count)
    log_scales = jnp.where(jnp.arange(k) % 2, 0.2, -0.2)
    return Part(
        mean=jnp.zeros((p, count + bends)),
        scale=jnp.zeros((p, count + bends)),
        offset=jnp.zeros((p2, 2)),
        couple=jnp.zeros((p2, before)),
        curve=jnp.zeros((p2, 2 * before, 2)),
        shape=jnp.concatenate([jnp.zeros(k), jnp.linspace(-0.2, 0.2, k), log_scales]),
        layers=layers,
        out=0.02 * jax.random.normal(keys[-1], (sizes.width, 3 * k)),
        bends=(slopes, jax.random.normal(key_place, (bends,))),
    )
