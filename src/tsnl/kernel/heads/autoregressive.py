r"""A density component by component: each has a mixture of K laws behind an affine map of it.

\(q(y \mid c, \theta) = \prod_j q_j(y_j \mid y_{<j}, c, \theta)\), where the components before j enter by
their residuals. The laws are Gaussian where \(y_j\) is real, and logistic, cut into bins, where it
counts (see `tsnl.kernel.heads.counts`).
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Key, PyTree

from tsnl.kernel.heads import counts
from tsnl.kernel.heads.base import Groups, Head, Settle
from tsnl.kernel.heads.component import Component, log_sum
from tsnl.kernel.heads.regression import earlier, level

Gaussians = tuple[Float[Array, "K _"], Float[Array, "K _"], Float[Array, "K _"]]
Shift = tuple[Float[Array, " _"], Float[Array, " _"], Float[Array, " _"]]


class Autoregressive(Head):
    """The density; see the module.

    A row is its values; where some entries count it is three parts of d_y entries each, the values and
    the lower and upper ends of their bins.

    Attributes:
        parts: the weights of all components, stacked along a first axis.
        groups: kinds of features.
        integer: which components count; none where it is empty.
    """

    parts: PyTree
    groups: Groups = eqx.field(static=True)
    integer: tuple[bool, ...] = eqx.field(static=True)

    @abstractmethod
    def affine(
        self, part: PyTree, c: Float[Array, "F n"], theta: Float[Array, "size m"]
    ) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """Mean and log-scale that make the residual of a component."""

    @abstractmethod
    def rest(
        self,
        part: PyTree,
        c: Float[Array, "F n"],
        theta: Float[Array, "size m"],
        before: Float[Array, "before n"],
        counts: Float[Array, " before"],
    ) -> tuple[Shift, Gaussians]:
        """What the residuals before a component do to its own, and the mixture of what is left.

        Of the residuals of all components but the last, those count that come before this one.
        """

    @property
    def d_y(self) -> int:
        """Components."""
        return len(jax.tree.leaves(self.parts)[0])

    def log_prob(
        self,
        y: Float[Array, "*b entries"],
        features: Float[Array, "*b F"],
        theta: Float[Array, "*#b size"],
    ) -> Float[Array, "*b"]:
        """Sum over the components of their conditional log-densities; leading axes stay.

        A theta without them is for all rows: what depends on it alone is then computed once.
        """
        return jnp.sum(self._each(_log_prob, y, features, theta), axis=0).reshape(y.shape[:-1])

    log_probs = log_prob

    def conditionals(
        self,
        y: Float[Array, "*b entries"],
        features: Float[Array, "*b F"],
        theta: Float[Array, "*#b size"],
    ) -> tuple[Float[Array, "*b d_y"], Float[Array, "*b d_y"], Float[Array, "*b d_y"]]:
        """Of each component given those before it: log-density, probability below it and above it."""

        def one(counted: bool, y: Array, law: Component) -> tuple[Array, Array, Array]:
            share = jax.nn.softmax(law.log_weights, axis=0)
            below, above = (jnp.sum(share * x, axis=0) for x in _tails(counted, y, law))
            return _log_prob(counted, y, law), below, above

        shape = (*y.shape[:-1], self.d_y)
        log_q, below, above = (x.T.reshape(shape) for x in self._each(one, y, features, theta))
        return log_q, below, above

    def _kinds(self) -> dict[bool, tuple[int, ...]]:
        """Which components are real, and which of them count."""
        integer = np.array(self.integer or (False,) * self.d_y)
        kinds = {k: tuple(np.flatnonzero(integer == k).tolist()) for k in (True, False)}
        return {counted: places for counted, places in kinds.items() if places}

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
        mean, log_scale = jax.vmap(lambda part: self.affine(part, c, theta))(self.parts)
        before = level((own[0] - mean) * lax.exp(-log_scale), 4.0)[:-1]

        def of(counted: bool, places: tuple[int, ...]) -> Any:
            def one(part: PyTree, first: Array, y: Array, mean: Array, log_scale: Array) -> Any:
                shift, gaussians = self.rest(part, c, theta, before, first)
                return call(counted, y, Component(mean, log_scale, *shift, *gaussians))

            each = (self.parts, jnp.asarray(earlier(d_y)), own.swapaxes(0, 1), mean, log_scale)
            if len(places) < d_y:
                each = jax.tree.map(lambda x: x[np.array(places)], each)
            return jax.vmap(one)(*each)

        kinds = self._kinds()
        found = [of(counted, places) for counted, places in kinds.items()]
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
        known: Float[Array, " d_y"] | None = None,
    ) -> Float[Array, "n d_y"]:
        """The steps of `log_prob` the other way round, one component after the other.

        `log_prob` knows of a count only what it is, so a later component is given the settled one. A
        component that is `known`, and not NaN there, is not drawn, and those after it are given it.
        """
        d_y, n, c, theta = self.d_y, len(features), features.T, theta[:, None]
        given = jnp.full(d_y, jnp.nan) if known is None else known

        def one(residuals: Array, now: tuple[Array, Array, PyTree, Array, Array]) -> tuple[Array, Array]:
            j, key, part, first, value = now
            key_pick, key_noise = jax.random.split(key)
            mean, log_scale = self.affine(part, c, theta)
            (log_stretch, moved, log_rest), gaussians = self.rest(part, c, theta, residuals[:-1], first)
            ends = jnp.cumsum(jax.nn.softmax(gaussians[0], axis=0), axis=0)[:-1]
            k = jnp.sum(jax.random.uniform(key_pick, (1, n)) > ends, axis=0, keepdims=True)
            wide = [jnp.broadcast_to(x, (len(x), n)) for x in gaussians[1:]]
            mean_k, log_scale_k = (jnp.take_along_axis(x, k, axis=0)[0] for x in wide)
            left = mean_k + jnp.exp(log_scale_k) * counts.noise(key_noise, self.integer, j, n)
            residual = (left * jnp.exp(log_rest) + moved) * jnp.exp(-log_stretch)
            y = mean + jnp.exp(log_scale) * residual
            if settle is not None:
                y = settle(jnp.zeros((n, d_y), y.dtype).at[:, j].set(y))[:, j]
            if known is not None:
                y = jnp.where(jnp.isnan(value), y, value)
            if known is not None or settle is not None:
                residual = (y - mean) * jnp.exp(-log_scale)
            return residuals.at[j].set(level(residual, 4.0)), y

        order = jnp.arange(d_y), jax.random.split(key, d_y)
        each = (*order, self.parts, jnp.asarray(earlier(d_y)), given)
        return lax.scan(one, jnp.zeros((d_y, n)), each)[1].T


def _log_prob(counted: bool, y: Float[Array, "kinds n"], law: Component) -> Float[Array, " n"]:
    """Of a component given those before it."""
    if counted:
        return counts.log_probability(y, law)
    white = law.white(y[0])
    terms = law.log_weights - 0.5 * white * white - law.log_scales
    log_q = log_sum(terms) - log_sum(law.log_weights) - 0.5 * np.log(2 * np.pi)
    return log_q + law.log_jacobian


def _tails(
    counted: bool, y: Float[Array, "kinds n"], law: Component
) -> tuple[Float[Array, "K n"], Float[Array, "K n"]]:
    """Probabilities below and above, by each law of the mixture."""
    if counted:
        return counts.tails(y, law)
    white = law.white(y[0])
    return jax.scipy.stats.norm.cdf(white), jax.scipy.stats.norm.cdf(-white)
