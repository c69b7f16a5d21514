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

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Key

from tsnl.kernel.heads.base import Groups, Head, Rows, Settle, num_features
from tsnl.kernel.heads.component import Component, log_sum, mixture
from tsnl.kernel.heads.fresh import Sizes, fresh_parts
from tsnl.kernel.heads.regression import Part, decouple, earlier, extended, level, regression
from tsnl.kernel.heads.ridge import ridge_start
from tsnl.kernel.heads.weight_prior import minus_log_prior, with_bends
from tsnl.runtime.checked import DEEPEST, check_fields
from tsnl.store.registry import register


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
        sizes = Sizes(self.num_components, self.width, self.depth, bool(self.curved), self.bends or 0)
        parts = fresh_parts(key, d_y, num_features(groups), size, sizes)
        return MixtureHead(parts, self, groups)

    def make_counts(
        self, key: Key[Array, ""], d_y: int, groups: Groups, size: int, integer: tuple[bool, ...]
    ) -> Head:
        """A fresh head, for entries some of which are integer-valued."""
        from tsnl.kernel.heads.counts import CountsHead  # which is made of this one

        return CountsHead(self.make(key, d_y, groups, size).parts, self, groups, integer)

    def start(self, head: "MixtureHead", rows: Rows) -> "MixtureHead":
        """The weights of step 1 at their ridge regression."""
        groups = with_bends(head.groups, self.bends or 0)

        def one(now: tuple[Part, Array]) -> tuple[Array, Array]:
            part, y = now
            own = rows._replace(y=y, features=extended(part, rows.features.T).T)
            return ridge_start(own, groups)

        mean, offset = lax.map(one, (head.parts, rows.y.T))  # one after the other: they are large
        mean = head.parts.mean.at[:, : mean.shape[1]].set(mean)
        return eqx.tree_at(lambda h: (h.parts.mean, h.parts.offset), head, (mean, offset))


class MixtureHead(Head):
    """The density; see the module.

    Attributes:
        parts: the weights of all components, stacked along a first axis.
        options: of the family.
        groups: kinds of features.
    """

    parts: Part
    options: Mixture = eqx.field(static=True)
    groups: Groups = eqx.field(static=True)

    @property
    def d_y(self) -> int:
        """Components."""
        return len(self.parts.offset)

    def log_prob(
        self,
        y: Float[Array, "*b entries"],
        features: Float[Array, "*b F"],
        theta: Float[Array, "*#b size"],
    ) -> Float[Array, "*b"]:
        """Sum over the components of their conditional log-densities; leading axes stay.

        A theta without them is for all rows: what depends on it alone is then computed once.
        """
        return jnp.sum(self._each(self._log_prob, y, features, theta), axis=0).reshape(y.shape[:-1])

    log_probs = log_prob

    def conditionals(
        self,
        y: Float[Array, "*b entries"],
        features: Float[Array, "*b F"],
        theta: Float[Array, "*#b size"],
    ) -> tuple[Float[Array, "*b d_y"], Float[Array, "*b d_y"], Float[Array, "*b d_y"]]:
        """Of each component given those before it: log-density, probability below it and above it."""

        def one(counts: bool, y: Array, law: Component) -> tuple[Array, Array, Array]:
            share = jax.nn.softmax(law.log_weights, axis=0)
            below, above = (jnp.sum(share * x, axis=0) for x in self._tails(counts, y, law))
            return self._log_prob(counts, y, law), below, above

        shape = (*y.shape[:-1], self.d_y)
        log_q, below, above = (x.T.reshape(shape) for x in self._each(one, y, features, theta))
        return log_q, below, above

    def _kinds(self) -> dict[bool, tuple[int, ...]]:
        """Which components are real, and which of them count."""
        return {False: tuple(range(self.d_y))}

    def _log_prob(self, counts: bool, y: Float[Array, "kinds n"], law: Component) -> Float[Array, " n"]:
        """Of a component given those before it."""
        white = law.white(y[0])
        terms = law.log_weights - 0.5 * white * white - law.log_scales
        log_q = log_sum(terms) - log_sum(law.log_weights) - 0.5 * np.log(2 * np.pi)
        return log_q + law.log_jacobian

    def _tails(
        self, counts: bool, y: Float[Array, "kinds n"], law: Component
    ) -> tuple[Float[Array, "K n"], Float[Array, "K n"]]:
        """Probabilities below and above, of each Gaussian."""
        white = law.white(y[0])
        return jax.scipy.stats.norm.cdf(white), jax.scipy.stats.norm.cdf(-white)

    def _each(
        self,
        call: Callable[[bool, Float[Array, "kinds n"], Component], Any],
        y: Float[Array, "*b entries"],
        features: Float[Array, "*b F"],
        theta: Float[Array, "*#b size"],
    ) -> Any:
        """Call something with each component: whether it counts, its entries and its conditional law.

        The results have axes d_y and n, the rows. Residuals need no component but their own, so that
        all are there before any component asks for those before it. Nothing is made of counts where a
        component is real, nor of reals where it counts.
        """
        d_y, n = self.d_y, y[..., 0].size
        own = y.reshape(n, -1, d_y).transpose(1, 2, 0)
        c = features.reshape(n, -1).T
        if theta.ndim > 1:
            theta = jnp.broadcast_to(theta, (*y.shape[:-1], theta.shape[-1]))
        theta = theta.reshape(-1, theta.shape[-1]).T
        mean, log_scale = jax.vmap(lambda part: regression(part, c, theta))(self.parts)
        before = level((own[0] - mean) * lax.exp(-log_scale), 4.0)[:-1]

        def of(counts: bool, places: tuple[int, ...]) -> Any:
            def one(part: Part, first: Array, y: Array, mean: Array, log_scale: Array) -> Any:
                decoupled = decouple(part, theta, before, first)
                gaussians = mixture(part, c, theta, before, first)
                return call(counts, y, Component(mean, log_scale, *decoupled, *gaussians))

            each = (self.parts, jnp.asarray(earlier(d_y)), own.swapaxes(0, 1), mean, log_scale)
            if len(places) < d_y:
                each = jax.tree.map(lambda x: x[np.array(places)], each)
            return jax.vmap(one)(*each)

        kinds = self._kinds()
        found = [of(counts, places) for counts, places in kinds.items()]
        if len(found) == 1:
            return found[0]
        order = np.argsort(np.concatenate(list(kinds.values())))
        return jax.tree.map(lambda *x: jnp.concatenate(x)[order], *found)

    def sample(
        self, key: Key[Array, ""], features: Float[Array, " F"], theta: Float[Array, " size"]
    ) -> Float[Array, " d_y"]:
        """Draw y_t."""
        return self.samples(key, features[None], theta)[0]

    def samples(
        self,
        key: Key[Array, ""],
        features: Float[Array, "n F"],
        theta: Float[Array, " size"],
        settle: Settle | None = None,
    ) -> Float[Array, "n d_y"]:
        """The steps of `log_prob` the other way round, one component after the other.

        `log_prob` knows of a count only what it is, so a later component is given the settled one.
        """
        d_y, n, c, theta = self.d_y, len(features), features.T, theta[:, None]

        def one(residuals: Array, now: tuple[Array, Array, Part, Array]) -> tuple[Array, Array]:
            j, key, part, counts = now
            key_pick, key_noise = jax.random.split(key)
            mean, log_scale = regression(part, c, theta)
            before = residuals[:-1]
            log_stretch, moved, log_rest = decouple(part, theta, before, counts)
            log_weights, means, log_scales = mixture(part, c, theta, before, counts)
            ends = jnp.cumsum(jax.nn.softmax(log_weights, axis=0), axis=0)[:-1]
            k = jnp.sum(jax.random.uniform(key_pick, (1, n)) > ends, axis=0, keepdims=True)
            gaussians = [jnp.broadcast_to(x, (len(x), n)) for x in (means, log_scales)]
            mean_k, log_scale_k = (jnp.take_along_axis(x, k, axis=0)[0] for x in gaussians)
            left = mean_k + jnp.exp(log_scale_k) * self._noise(key_noise, j, n)
            residual = (left * jnp.exp(log_rest) + moved) * jnp.exp(-log_stretch)
            y = mean + jnp.exp(log_scale) * residual
            if settle is not None:
                y = settle(jnp.zeros((n, d_y), y.dtype).at[:, j].set(y))[:, j]
                residual = (y - mean) * jnp.exp(-log_scale)
            return residuals.at[j].set(level(residual, 4.0)), y

        each = jnp.arange(d_y), jax.random.split(key, d_y), self.parts, jnp.asarray(earlier(d_y))
        return lax.scan(one, jnp.zeros((d_y, n)), each)[1].T

    def _noise(self, key: Key[Array, ""], j: Array, n: int) -> Float[Array, " n"]:
        """The standard law behind component j."""
        return jax.random.normal(key, (n,))

    def penalty(self) -> Float[Array, ""]:
        """Minus the log-prior of all weights."""
        return minus_log_prior(self.parts, self.groups)
