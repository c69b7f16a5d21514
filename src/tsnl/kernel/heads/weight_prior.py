r"""The prior of a component's weights: what lets a kernel of several hundred learn from twenty series.

In standardised units. Each weight has a prior sd, a guess of how large it may have to be. Weights of one
kind (those of the near lags, say, or their change with one parameter) form a group, whose common scale
is unknown: see `minus_log_prior`. A column's own past and that of the others are groups apart: most of
what other columns say is often nothing, and many of them would drown in noise what little it is.
"""

import itertools
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from tsnl.kernel.heads.base import Groups, num_features
from tsnl.kernel.heads.regression import Part, earlier, num_parameters
from tsnl.kernel.memory.base import Group

# Prior standard deviations, found by measurement on the linear, volatility and predator-prey problems;
# those of a feature's weight at theta's centre come with the memory that makes the feature.
SLOPE, SQUARE = 0.3, 0.1  # of a weight's change with theta and with products, over the weight's own
OFFSET, OFFSET_SLOPE, OFFSET_SQUARE = 3.0, 1.0, 0.3  # of offsets: constant, linear, products
CURVE = 1 / 3
OUT, HIDDEN = 1.0, 3.0
BENT = (0.3, 0.2)  # of a bent feature's weight, in the mean and in the log-scale
PLACE = 2.0  # of where a bend is
TYPICAL = 0.2  # size of a group that is not needed, over the sds above


def with_bends(groups: Groups, count: int) -> Groups:
    """Kinds of features, and the bent ones."""
    return (*groups, Group.of(BENT, np.ones(count))) if count else groups


def feature_sd(groups: Groups) -> tuple[Float[np.ndarray, " F"], Float[np.ndarray, " F"]]:
    """Prior sd of each feature's weight, in the mean and in the log-scale."""
    mean = [sd for group in groups for sd in group.mean_sd]
    scale = [sd for group in groups for sd in group.scale_sd]
    return np.array(mean, dtype=float), np.array(scale, dtype=float)


def of_others(groups: Groups, d_y: int) -> Bool[np.ndarray, "d_y F"]:
    """For each component, which features are of other columns."""
    return np.concatenate(
        [np.zeros((d_y, 0), dtype=bool), *(one.is_of_others(d_y) for one in groups)], axis=1
    )


def slope_sd(size: int) -> tuple[Float[np.ndarray, "P2 1"], Float[np.ndarray, "P2 1"]]:
    """Prior sd over the terms of theta: of a weight's and of an offset's."""
    num_products = size * (size + 1) // 2
    weight = [1.0] + [SLOPE] * size + [SQUARE] * num_products
    offset = [OFFSET] + [OFFSET_SLOPE] * size + [OFFSET_SQUARE] * num_products
    return np.array(weight)[:, None], np.array(offset)[:, None]


class Table(NamedTuple):
    """What the prior knows of every weight of all components, in the order of their leaves.

    Attributes:
        precision: 1 / sd of each weight, zero where it has a flat prior, or is not used.
        group: the group that each weight is in; those in none have the last number.
        sizes: weights in each group, of those in none not counted.
    """

    precision: Float[np.ndarray, " weights"]
    group: Int[np.ndarray, " weights"]
    sizes: Float[np.ndarray, " groups"]


def minus_log_prior(parts: Part, groups: Groups) -> Float[Array, ""]:
    r"""Gaussian for what every kernel needs, shrinking for the groups that it may do without.

    A group w of n weights has a common scale that is unknown, \(\frac{n + 1}{2} \log(1 + |w|^2 / t^2)\):
    the marginal of N(0, \tau^2) with an inverse-gamma \(\tau^2\). One that the data do not ask for is
    pulled to zero, one that they do ask for is left alone. Each component has groups of its own.
    """
    table = make_table(parts, groups)
    weights = jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(parts)])
    square = (weights * table.precision) ** 2
    sums = jax.ops.segment_sum(square, table.group, len(table.sizes) + 1)
    return 0.5 * sums[-1] + 0.5 * (table.sizes + 1) @ jnp.log1p(sums[:-1] / TYPICAL**2)


def make_table(parts: Part, groups: Groups) -> Table:
    """The table for weights of these shapes, in numpy: a constant of the compiled program."""
    inverse = jax.tree.map(lambda leaf: np.zeros(leaf.shape), parts)
    group = jax.tree.map(lambda leaf: np.full(leaf.shape, -1), parts)
    used = jax.tree.map(lambda leaf: np.ones(leaf.shape), parts)
    count = itertools.count()
    size, own, d_y = num_parameters(parts), num_features(groups), len(parts.offset)
    groups = with_bends(groups, parts.bends[1].shape[1])
    mean_sd, scale_sd = feature_sd(groups)
    largest = np.maximum(mean_sd, scale_sd)[:own, None]
    weight, quadratic = slope_sd(size)
    inverse.shape[:], inverse.out[:] = 1.0, 1 / OUT
    for name, sd in (("mean", mean_sd), ("scale", scale_sd)):
        getattr(inverse, name)[:] = 1 / (weight[: parts.mean.shape[1]] * sd)
        for kind, one in zip(_kinds(groups), groups, strict=True):
            others = one.is_of_others(d_y)
            for p in range(parts.mean.shape[1]):
                getattr(group, name)[:, p, kind] = next(count)
                if others.any():
                    getattr(group, name)[:, p, kind][others] = next(count)
    for name in ("offset", "couple"):
        getattr(inverse, name)[:] = 1 / quadratic
        getattr(group, name)[:, 1 + size :] = next(count)
    inverse.curve[:, :1], inverse.curve[:, 1:] = 1 / (CURVE * OFFSET), 1 / CURVE
    group.curve[:, 1:] = next(count)
    before = earlier(d_y)
    used.couple[:] = before[:, None]
    used.curve[:] = np.tile(before, 2)[:, None, :, None]
    for i, (weight, _) in enumerate(inverse.layers):
        weight[:] = np.sqrt(weight.shape[2]) / HIDDEN
        if i == 0:
            weight[:, :own] /= largest
            used.layers[0][0][:, own : own + d_y - 1] = before[:, :, None]
            for p in range(size):
                group.layers[0][0][:, p - size] = next(count)
    inverse.bends[0][:] = np.sqrt(own) / HIDDEN * largest.max(initial=0.0) / largest
    inverse.bends[1][:] = 1 / PLACE
    total = next(count)
    ids, precision = [], []
    for g, u, i in zip(*map(jax.tree.leaves, (group, used, inverse)), strict=True):
        column = np.arange(d_y).reshape(-1, *[1] * (g.ndim - 1))  # each has groups of its own
        ids.append(np.where((g >= 0) & (u > 0), g + total * column, -1).ravel())
        precision.append((i * u).ravel())
    found = np.concatenate(ids)
    names, sizes = np.unique(found[found >= 0], return_counts=True)
    places = np.where(found < 0, len(names), np.searchsorted(names, found)).astype(np.int32)
    return Table(np.concatenate(precision).astype(np.float32), places, sizes.astype(np.float32))


def _kinds(groups: Groups) -> list[slice]:
    """Where each group's features are."""
    edges = np.cumsum([0, *(len(group.mean_sd) for group in groups)]).tolist()
    return [slice(a, b) for a, b in pairwise(edges)]
