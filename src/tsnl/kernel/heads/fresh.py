"""The weights of all components before training."""

import itertools
from math import comb, prod
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.kernel.heads.regression import Part, earlier, num_terms

STEEP = 1.5  # size of a bent combination of features of unit size, at the start


class Sizes(NamedTuple):
    """What a family says of its weights; see `Mixture`."""

    num_components: int
    width: int
    depth: int
    curved: bool
    bends: int


def fresh_parts(key: Key[Array, ""], d_y: int, count: int, size: int, sizes: Sizes) -> Part:
    """Weights at their start: regressions at zero, the network random with a small last layer."""
    p, p2 = num_terms(size, sizes.curved), 1 + size + comb(size + 1, 2)
    k, bends, before = sizes.num_components, sizes.bends, earlier(d_y)
    inputs = np.concatenate([np.ones((d_y, count)), before, np.ones((d_y, size))], axis=1)
    widths = [inputs.shape[1], *[sizes.width] * sizes.depth]
    pairs = list(itertools.pairwise(widths)) if sizes.width else []
    shapes = [*pairs, (sizes.width, 3 * k), (count, bends), (bends,)]
    *noise, out, slopes, places = _normals(key, [(d_y, *shape) for shape in shapes])
    used = [inputs, *[np.ones((d_y, sizes.width))] * (sizes.depth - 1)]
    signs = np.where(np.arange(k) % 2, 0.2, -0.2)
    shape = np.concatenate([np.zeros(k), np.linspace(-0.2, 0.2, k), signs])
    return Part(
        mean=jnp.zeros((d_y, p, count + bends)),
        scale=jnp.zeros((d_y, p, count + bends)),
        offset=jnp.zeros((d_y, p2, 2)),
        couple=jnp.zeros((d_y, p2, d_y - 1)),
        curve=jnp.zeros((d_y, p2, 2 * (d_y - 1), 2)),
        shape=jnp.tile(jnp.asarray(shape, dtype=float), (d_y, 1)),
        layers=[
            (w * (u / np.sqrt(u.sum(axis=1, keepdims=True)))[:, :, None], jnp.zeros((d_y, w.shape[2])))
            for w, u in zip(noise, used, strict=False)
        ],
        out=0.02 * out,
        bends=(STEEP * slopes / np.sqrt(count), places),
    )


def _normals(key: Key[Array, ""], shapes: list[tuple[int, ...]]) -> list[Float[Array, "..."]]:
    """Arrays from one draw: every draw of its own is a program to compile (decision 0014)."""
    ends = np.cumsum([prod(shape) for shape in shapes])
    parts = jnp.split(jax.random.normal(key, (int(ends[-1]),)), ends[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
