r"""A mixture density network (Bishop, 1994), autoregressive over the components of y.

Component j of y, given features c, parameters \(\theta\) and the components before it, has a mixture of
K Gaussians whose weights, means and scales are the outputs of a network of all of them. To the means a
regression is added, whose weights are linear in theta and start at zero: what is far out in c moves
y as far. Unlike `Mixture` it takes nothing for granted of how c and theta act, and takes more data.
"""

from dataclasses import dataclass
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Key

from tsnl.kernel.heads.autoregressive import Autoregressive, Gaussians, Shift
from tsnl.kernel.heads.base import Groups, num_features
from tsnl.kernel.heads.regression import bases, soft
from tsnl.runtime.checked import DEEPEST, check_fields
from tsnl.store.registry import register

FAR = 6.0  # in sds: how far features, parameters and components before are told apart
LOWEST, HIGHEST = -7.0, 5.0  # log-scales


@register
@dataclass(frozen=True)
class Network:
    """Options of the family.

    Attributes:
        num_components: Gaussians in the mixture.
        width, depth: of the network's hidden layers.
    """

    num_components: int = 6
    width: int = 64
    depth: int = 2

    def __post_init__(self) -> None:
        check_fields(self)
        if min(self.num_components, self.width) < 1 or not 1 <= self.depth <= DEEPEST:
            raise ValueError(f"{self}: expected a component, width 1 or more, depth 1 to {DEEPEST}.")

    def make(self, key: Key[Array, ""], d_y: int, groups: Groups, size: int) -> "NetworkHead":
        """A fresh head."""
        return self.make_counts(key, d_y, groups, size, ())

    def make_counts(
        self, key: Key[Array, ""], d_y: int, groups: Groups, size: int, integer: tuple[bool, ...]
    ) -> "NetworkHead":
        """A fresh head, for entries some of which are integer-valued."""
        count, k = num_features(groups), self.num_components
        widths = [count + d_y - 1 + size, *[self.width] * self.depth, 3 * k]
        keys = jax.random.split(key, len(widths))
        weights = [
            jax.random.uniform(one, (d_y, a, b), minval=-1, maxval=1) / np.sqrt(a)
            for one, (a, b) in zip(keys, pairwise(widths), strict=False)
        ]
        apart = np.concatenate([np.zeros(k), np.linspace(-1, 1, k), np.zeros(k)])
        biases = [jnp.zeros((d_y, width)) for width in widths[1:-1]]
        biases.append(jnp.tile(jnp.asarray(apart, dtype=float), (d_y, 1)))
        skip = jnp.zeros((d_y, 1 + size, count))
        return NetworkHead(Layers(weights, biases, skip), groups, integer)


class Layers(eqx.Module):
    """The weights of one component of y, or of all of them, stacked along a first axis."""

    weights: list[Float[Array, "*d_y _ _"]]
    biases: list[Float[Array, "*d_y _"]]
    skip: Float[Array, "*d_y P1 F"]


class NetworkHead(Autoregressive):
    """The density; see the module."""

    parts: Layers

    def affine(
        self, part: Layers, c: Float[Array, "F n"], theta: Float[Array, "size m"]
    ) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """The regression alone."""
        linear, _ = bases(theta)
        mean = jnp.sum(linear * (part.skip @ c), axis=0)
        return mean, jnp.zeros_like(mean)

    def rest(
        self,
        part: Layers,
        c: Float[Array, "F n"],
        theta: Float[Array, "size m"],
        before: Float[Array, "before n"],
        counts: Float[Array, " before"],
    ) -> tuple[Shift, Gaussians]:
        """All that the network says."""
        (first, *others), (bias, *biases) = part.weights, part.biases
        cuts = len(c), len(c) + len(before)
        # in three parts: of a theta that is for all rows, and of rows that stay while it moves
        hidden = first[: cuts[0]].T @ soft(c, FAR) + first[cuts[1] :].T @ soft(theta, FAR)
        if len(before):
            hidden = hidden + (first[cuts[0] : cuts[1]] * counts[:, None]).T @ before
        hidden = hidden + bias[:, None]
        for weight, bias in zip(others, biases, strict=True):
            hidden = weight.T @ (hidden * lax.logistic(hidden)) + bias[:, None]
        log_weights, means, log_scales = jnp.split(hidden, 3)
        nothing = jnp.zeros_like(hidden[0])
        return (nothing, nothing, nothing), (log_weights, means, jnp.clip(log_scales, LOWEST, HIGHEST))

    def penalty(self) -> Float[Array, ""]:
        """Minus the log-prior: all weights are standard normal."""
        weights = jnp.concatenate([x.ravel() for x in [*self.parts.weights, self.parts.skip]])
        return 0.5 * jnp.sum(weights**2)
