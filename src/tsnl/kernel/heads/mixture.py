r"""A regression with a mixture of Gaussians for its noise, autoregressive over the components of y.

Component j of y, given features c, parameters \(\theta\) and the components before it:

1. A regression whose weights depend on theta, for the mean and for the log-scale,
   \(m = w(\theta)^T c + w_0(\theta)\), \(\log s = v(\theta)^T c + v_0(\theta)\), gives the residual
   \(e_j = (y_j - m) / s\). Here c is the features, and bent combinations \(\tanh(A c + b)\) of them.
   With w smooth in theta this is the form of the Kalman filter's one-step prediction.
2. The residuals before it are taken out: first linearly, \(e_j \sqrt{1 + |a|^2} - a^T e_{<j}\) with
   \(a = \sinh r(\theta)\), which is the conditional of correlated normals; then by bent functions of
   them, in mean and log-scale, for heavier tails.
3. What is left has a mixture of K Gaussians, whose weights, means and scales a small network moves away
   from a common shape, starting at zero.

The weights have a prior that fades with the lag and pulls groups of them to zero unless the data ask
for them (see `weight_prior`), so that a few hundred windows are enough to start with and many are still
used. The weights of step 1 start at their ridge regression.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import comb
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Key

from tsnl.kernel.heads.base import Groups, Head, Rows, num_features
from tsnl.kernel.heads.component import Component, log_sum
from tsnl.kernel.heads.regression import (
    Part,
    decouple,
    extended,
    level,
    num_terms,
    regression,
    soft,
)
from tsnl.kernel.heads.ridge import ridge_start
from tsnl.kernel.heads.weight_prior import minus_log_prior, with_bends
from tsnl.runtime.checked import DEEPEST, check_fields
from tsnl.store.registry import register

STEEP = 1.5  # size of a bent combination of features of unit size, at the start


@register
@dataclass(frozen=True)
class Mixture:
    """Options of the family.

    Attributes:
        num_components: Gaussians in the mixture.
        width, depth: of the network that shapes the mixture; width 0 leaves it out.
        curved: whether the weights of step 1 bend with theta; None lets `TSNL` choose by the number of
            simulations, and is False elsewhere.
        bends: bent combinations of features in step 1; None lets `TSNL` choose by the number of
            simulations, and is 0 elsewhere.
    """

    num_components: int = 4
    width: int = 32
    depth: int = 2
    curved: bool | None = None
    bends: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        least = min(self.width, self.bends or 0)
        if self.num_components < 1 or not 1 <= self.depth <= DEEPEST or least < 0:
            raise ValueError(
                f"{self}: expected a component, width and bends 0 or more, depth 1 to {DEEPEST}."
            )

    def make(self, key: Key[Array, ""], d_y: int, groups: Groups, size: int) -> "MixtureHead":
        """A fresh head."""
        keys = jax.random.split(key, d_y)
        count = num_features(groups)
        parts = (_fresh(k, self, count, size, j) for j, k in enumerate(keys))
        return MixtureHead(tuple(parts), self, groups)

    def make_counts(
        self, key: Key[Array, ""], d_y: int, groups: Groups, size: int, integer: tuple[bool, ...]
    ) -> Head:
        """A fresh head, for entries some of which are integer-valued."""
        from tsnl.kernel.heads.counts import CountsHead  # which is made of this one

        return CountsHead(self.make(key, d_y, groups, size).parts, self, groups, integer)

    def start(self, head: "MixtureHead", rows: Rows) -> "MixtureHead":
        """The weights of step 1 at their ridge regression."""
        groups = with_bends(head.groups, self.bends or 0)
        for j, part in enumerate(head.parts):
            seen = rows._replace(y=rows.y[:, j], features=extended(part, rows.features))
            mean, offset = ridge_start(seen, groups)
            mean = head.parts[j].mean.at[: len(mean)].set(mean)
            head = eqx.tree_at(_regression_of(j), head, (mean, offset))
        return head


class MixtureHead(Head):
    """The density; see the module."""

    parts: tuple[Part, ...]
    options: Mixture = eqx.field(static=True)
    groups: Groups = eqx.field(static=True)

    def log_prob(
        self,
        y: Float[Array, "*b entries"],
        features: Float[Array, "*b F"],
        theta: Float[Array, "*#b size"],
    ) -> Float[Array, "*b"]:
        """Sum over the components of their conditional log-densities; leading axes stay.

        A theta without them is for all rows: what depends on it alone is then computed once.
        """
        total = lax.full_like(y[..., 0], 0.0)
        for j, part in enumerate(self._parts(y, features, theta)):
            total = total + self._log_prob(j, y, part)
        return total

    log_probs = log_prob

    def conditionals(
        self,
        y: Float[Array, "*b entries"],
        features: Float[Array, "*b F"],
        theta: Float[Array, "*#b size"],
    ) -> tuple[Float[Array, "*b d_y"], Float[Array, "*b d_y"], Float[Array, "*b d_y"]]:
        """Of each component given those before it: log-density, probability below it and above it."""
        found = []
        for j, part in enumerate(self._parts(y, features, theta)):
            share = jax.nn.softmax(part.log_weights)
            below, above = (jnp.sum(share * x, -1) for x in self._tails(j, y, part))
            found.append((self._log_prob(j, y, part), below, above))
        log_q, below, above = (jnp.stack(x, axis=-1) for x in zip(*found, strict=True))
        return log_q, below, above

    def _log_prob(self, j: int, y: Array, part: "Component") -> Array:
        """Of component j given those before it."""
        white = part.white(y[..., j])
        terms = part.log_weights - 0.5 * white * white - part.log_scales
        log_q = log_sum(terms) - log_sum(part.log_weights) - 0.5 * np.log(2 * np.pi)
        return log_q + part.log_jacobian

    def _tails(self, j: int, y: Array, part: "Component") -> tuple[Array, Array]:
        """Probabilities below and above, of each Gaussian."""
        white = part.white(y[..., j])
        return jax.scipy.stats.norm.cdf(white), jax.scipy.stats.norm.cdf(-white)

    def _parts(
        self, y: Float[Array, "*b entries"], features: Float[Array, "*b F"], theta: Array
    ) -> Iterator["Component"]:
        """The conditional law of each component of y."""
        before = y[..., :0]
        for j, part in enumerate(self.parts):
            fit = regression(part, features, theta)
            log_stretch, moved, log_scale = decouple(fit, before)
            mixture = self._mixture(part, features, theta, before)
            yield Component(fit.mean, fit.log_scale, log_stretch, moved, log_scale, *mixture)
            residual = (y[..., j] - fit.mean) * lax.exp(-fit.log_scale)
            before = _append(before, level(residual, 4.0))

    def sample(
        self, key: Key[Array, ""], features: Float[Array, " F"], theta: Float[Array, " size"]
    ) -> Float[Array, " d_y"]:
        """The steps of `log_prob` the other way round, one component after the other."""
        y: list[Array] = []
        before = theta[:0]
        for part, key_j in zip(self.parts, jax.random.split(key, len(self.parts)), strict=True):
            key_pick, key_noise = jax.random.split(key_j)
            fit = regression(part, features, theta)
            log_stretch, moved, log_scale = decouple(fit, before)
            log_weights, means, log_scales = self._mixture(part, features, theta, before)
            k = jax.random.categorical(key_pick, log_weights)
            left = means[k] + jnp.exp(log_scales[k]) * self._noise(key_noise, len(y))
            residual = (left * jnp.exp(log_scale) + moved) * jnp.exp(-log_stretch)
            y.append(fit.mean + jnp.exp(fit.log_scale) * residual)
            before = _append(before, level(residual, 4.0))
        return jnp.stack(y)

    def _noise(self, key: Key[Array, ""], j: int) -> Float[Array, ""]:
        """The standard law behind component j."""
        return jax.random.normal(key)

    def _mixture(
        self, part: Part, features: Array, theta: Array, before: Array
    ) -> tuple[Array, Array, Array]:
        """Log-weights up to a constant, means and log-scales of the mixture (K each)."""
        k = self.options.num_components
        shape = part.shape
        if part.layers:
            (first, bias), *rest = part.layers
            near = soft(features, 4.0)
            cuts = near.shape[-1], near.shape[-1] + before.shape[-1]
            # in three parts: of a theta that is for all windows, and of windows that stay while it moves
            hidden = near @ first[: cuts[0]] + soft(theta, 4.0) @ first[cuts[1] :] + bias
            if before.shape[-1]:
                hidden = hidden + before @ first[cuts[0] : cuts[1]]
            hidden = hidden * lax.logistic(hidden)
            for weight, bias in rest:
                hidden = hidden @ weight + bias
                hidden = hidden * lax.logistic(hidden)
            shape = shape + hidden @ part.out
        log_weights, means, log_scales = (shape[..., i * k : (i + 1) * k] for i in range(3))
        return log_weights, soft(means, 6.0), soft(log_scales, 3.0)

    def penalty(self) -> Float[Array, ""]:
        """Minus the log-prior of all weights."""
        return sum((minus_log_prior(p, self.groups) for p in self.parts), jnp.zeros(()))


def _append(before: Float[Array, "*b j"], new: Float[Array, "*b"]) -> Float[Array, "*b more"]:
    return lax.concatenate([before, new[..., None]], before.ndim - 1)


def _regression_of(j: int) -> Callable[[Any], tuple[Array, Array]]:
    """Where the weights that ridge regression starts are, in component j."""
    return lambda head: (head.parts[j].mean, head.parts[j].offset)


def _fresh(key: Key[Array, ""], options: Mixture, count: int, size: int, j: int) -> Part:
    """Weights at their start: regressions at zero, the network random with a small last layer."""
    keys = jax.random.split(key, options.depth + 1)
    p, p2 = num_terms(size, bool(options.curved)), 1 + size + comb(size + 1, 2)
    k, bends = options.num_components, options.bends or 0
    sizes = [count + j + size, *[options.width] * options.depth]
    pairs = pairwise(sizes) if options.width else ()
    layers = [
        (jax.random.normal(keys[i], (a, b)) / np.sqrt(a), jnp.zeros(b)) for i, (a, b) in enumerate(pairs)
    ]
    key_slope, key_place = jax.random.split(jax.random.fold_in(key, 1))
    slopes = STEEP * jax.random.normal(key_slope, (count, bends)) / np.sqrt(count)
    widths = jnp.where(jnp.arange(k) % 2, 0.2, -0.2)
    return Part(
        mean=jnp.zeros((p, count + bends)),
        scale=jnp.zeros((p, count + bends)),
        offset=jnp.zeros((p2, 2)),
        couple=jnp.zeros((p2, j)),
        curve=jnp.zeros((p2, 2 * j, 2)),
        shape=jnp.concatenate([jnp.zeros(k), jnp.linspace(-0.2, 0.2, k), widths]),
        layers=layers,
        out=0.02 * jax.random.normal(keys[-1], (options.width, 3 * k)),
        bends=(slopes, jax.random.normal(key_place, (bends,))),
    )
