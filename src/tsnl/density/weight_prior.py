r"""The Gaussian prior of a component's weights: a guess of how much of each kind is needed.

In standardised units. It is what lets a kernel of several hundred weights learn from twenty series.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsnl.density.regression import Part
from tsnl.windows import Past

# Prior standard deviations, found by measurement on the linear, volatility and predator-prey problems.
LAG, ABSENT, FAR = 1.0, 0.3, 0.5  # of the mean's weights at theta's centre
LAG_SCALE, ABSENT_SCALE, FAR_SCALE = 0.05, 1.0, 0.3  # of the log-scale's
SLOPE = 0.3  # of a weight's change with theta, over the weight's own
BENT = 0.1  # the same for bent functions of theta
OFFSET, OFFSET_SLOPE, OFFSET_SQUARE, OFFSET_BENT = 3.0, 1.0, 0.3, 0.1
CURVE = 1 / 3
OUT, HIDDEN = 0.5, 1.5


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
    """Half the sum of squared weights, each over its prior sd."""
    size, num_features = part.bent_weight.shape[0], part.mean.shape[1]
    mean_sd, scale_sd = feature_sd(past, num_features, fading)
    linear, quadratic = slope_sd(size)
    pairs: list[tuple[Array, Array | float]] = [
        (part.mean, linear * mean_sd),
        (part.scale, linear * scale_sd),
        (part.mean_bent, BENT * mean_sd),
        (part.scale_bent, BENT * scale_sd),
        (part.offset, quadratic),
        (part.couple, quadratic),
        (part.curve, CURVE * quadratic[..., None]),
        (part.offset_bent, OFFSET_BENT),
        (part.couple_bent, OFFSET_BENT),
        (part.bent_weight, 1.0),
        (part.bent_bias, 1.0),
        (part.shape, 1.0),
        (part.out, OUT),
    ]
    for i, (weight, _) in enumerate(part.layers):
        sd = HIDDEN / np.sqrt(weight.shape[1]) * jnp.ones((weight.shape[0], 1))
        if i == 0:
            sd = sd.at[:num_features, 0].multiply(jnp.maximum(mean_sd, scale_sd))
        pairs.append((weight, sd))
    return sum((0.5 * jnp.sum((w / sd) ** 2) for w, sd in pairs), jnp.zeros(()))
