r"""The prior of a component's weights: what lets a kernel of several hundred learn from twenty series.

In standardised units. Each weight has a prior sd, a guess of how large it may have to be. Weights of one
kind (those of the near lags, say, or their change with one parameter) form a group, whose common scale
is unknown: see `_shrink`.
"""

from itertools import pairwise

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsnl.density.regression import Part
from tsnl.windows import Past

# Prior standard deviations, found by measurement on the linear, volatility and predator-prey problems.
LAG, ABSENT, FAR = 1.0, 0.3, 0.5  # of the mean's weights at theta's centre
LAG_SCALE, ABSENT_SCALE, FAR_SCALE = 0.05, 1.0, 0.3  # of the log-scale's
SLOPE = 0.3  # of a weight's change with theta, over the weight's own
OFFSET, OFFSET_SLOPE, OFFSET_SQUARE = 3.0, 1.0, 0.3  # of offsets: constant, linear, products
CURVE = 1 / 3
OUT, HIDDEN = 1.0, 3.0
TYPICAL = 0.2  # size of a group that is not needed, over the sds above


def feature_sd(
    past: Past, num_features: int, fading: float
) -> tuple[Float[Array, " F"], Float[Array, " F"]]:
    """Prior sd of each feature's weight, in the mean and in the log-scale; lags fade."""
    d_y = num_features // (2 * past.lag + 2 * len(past.decays))
    fade = np.repeat(fading ** np.arange(past.lag), d_y)
    rest = np.ones(num_features - 2 * len(fade))
    mean = np.concatenate([LAG * fade, ABSENT * fade, FAR * rest])
    scale = np.concatenate([LAG_SCALE * fade, ABSENT_SCALE * fade, FAR_SCALE * rest])
    return jnp.asarray(mean), jnp.asarray(scale)


def slope_sd(size: int) -> tuple[Float[Array, "P1 1"], Float[Array, "P2 1"]]:
    """Prior sd over the terms of theta: of a weight's (constant, linear) and of an offset's."""
    linear = np.array([1.0] + [SLOPE] * size)[:, None]
    num_squares = size * (size + 1) // 2
    quadratic = [OFFSET] + [OFFSET_SLOPE] * size + [OFFSET_SQUARE] * num_squares
    return jnp.asarray(linear), jnp.asarray(quadratic)[:, None]


def minus_log_prior(part: Part, past: Past, fading: float) -> Float[Array, ""]:
    """Gaussian for what every kernel needs, shrinking for the groups that it may do without."""
    size, num_features = part.mean.shape[0] - 1, part.mean.shape[1]
    mean_sd, scale_sd = feature_sd(past, num_features, fading)
    _, quadratic = slope_sd(size)
    total = _gauss(part.shape, 1.0) + _gauss(part.out, OUT)
    for weights, sd in ((part.mean, mean_sd), (part.scale, scale_sd)):
        for kind in _kinds(past, num_features):
            total += _shrink(weights[0, kind] / sd[kind])
            total += sum((_shrink(row) for row in weights[1:, kind] / (SLOPE * sd[kind])), 0.0)
    for offsets in (part.offset, part.couple):
        total += _gauss(offsets[: 1 + size], quadratic[: 1 + size])
        total += _shrink(offsets[1 + size :] / OFFSET_SQUARE)
    total += _gauss(part.curve[0], CURVE * OFFSET) + _shrink(part.curve[1:] / CURVE)
    for i, (weight, _) in enumerate(part.layers):
        sd = jnp.full((weight.shape[0], 1), HIDDEN / np.sqrt(weight.shape[1]))
        if i == 0:
            sd = sd.at[:num_features, 0].multiply(jnp.maximum(mean_sd, scale_sd))
            total += sum((_shrink(row) for row in weight[-size:] / sd[-size:]), 0.0)
            weight, sd = weight[:-size], sd[:-size]
        total += _gauss(weight, sd)
    return total


def _gauss(w: Array, sd: Array | float) -> Float[Array, ""]:
    return 0.5 * jnp.sum((w / sd) ** 2)


def _shrink(w: Array) -> Float[Array, ""]:
    r"""A group whose common scale is unknown: \(\frac{n + 1}{2} \log(1 + |w|^2 / t^2)\).

    The marginal of N(0, \tau^2) with an inverse-gamma \tau^2: a group that the data do not ask for is
    pulled to zero, one that they do ask for is left alone.
    """
    return 0.5 * (w.size + 1) * jnp.log1p(jnp.sum(w**2) / TYPICAL**2) if w.size else jnp.zeros(())


def _kinds(past: Past, num_features: int) -> list[slice]:
    """The groups of features: lags, absences, levels and sizes of the far past."""
    d_y = num_features // (2 * past.lag + 2 * len(past.decays))
    near, far = past.lag * d_y, len(past.decays) * d_y
    edges = [0, near, 2 * near, 2 * near + far, num_features]
    return [slice(a, b) for a, b in pairwise(edges) if b > a]
