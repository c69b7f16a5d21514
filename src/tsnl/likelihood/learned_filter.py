r"""A particle filter whose transition was learned from simulated states: it calls no dynamics.

A simulated path gives its states too. Their law is Markov, so that one kernel of lag one,
\(q(x_t \mid x_{t-1}, \theta)\), needs no memory and loses nothing by truncation. With the model's
\(p_\theta(x_0)\), and \(p_\theta(y_t \mid x_t)\), its own or learned too, it is a state-space model
again, and a bootstrap filter gives \(\log \hat p(y_{1:T} \mid \theta)\) for any theta without a call of
the dynamics.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.likelihood.entries import initial_state
from tsnl.likelihood.observation import Observation
from tsnl.likelihood.transition import Transition
from tsnl.models.base import State, StateSpaceModel
from tsnl.problem.prior import Prior
from tsnl.sampling import resampling

TOGETHER = 8  # filters of one call, side by side
IMPOSSIBLE = -1e4  # what a row adds that no particle can explain: finite, so that means stay finite


class LearnedFilter(eqx.Module):
    """A model with a learned transition; see the module.

    Attributes:
        model: whose initial law is its own.
        prior: of what is inferred.
        transition: the learned law of the states.
        observation: the law of a row given its state, the model's own or learned.
        num_particles: of each filter, a multiple of the kernel's members.
    """

    model: StateSpaceModel
    prior: Prior = eqx.field(static=True)
    transition: Transition
    observation: Observation
    num_particles: int = eqx.field(static=True)

    def __call__(
        self,
        key: Key[Array, ""],
        z: Float[Array, " size"],
        rows: Float[Array, "T ..."],
        inputs: Float[Array, "T d_u"] | None,
    ) -> Float[Array, ""]:
        r"""\(\log \hat p(y_{1:T} \mid \theta)\) at an unconstrained z; a row of NaN is missing."""
        model, n = self.model, self.num_particles
        theta = model.complete(self.prior.constrain(z))
        centred = self.transition.kernel.scaling.standardise_z(z)

        def step(carry: tuple[Array, Array], now: Any) -> tuple[tuple[Array, Array], Array]:
            x, weights = carry
            t, y, u, known = now
            key_resample, key_move = jax.random.split(jax.random.fold_in(key, t))
            ancestors = resampling.systematic(key_resample, weights)
            thin = resampling.ess(weights) < 0.5 * n
            x = jnp.where(thin, x[ancestors], x)
            weights = jnp.where(thin, 1 / n, weights)
            x, seen = self.transition(key_move, x, centred, t, known, jnp.ravel(y))
            density = seen + self.observation(y, x, theta, z, t, u)
            missing = jnp.any(jnp.isnan(y))
            density = jnp.where(jnp.isnan(density), -jnp.inf, density)
            return _weigh(x, weights, jnp.where(missing, 0.0, density))

        keys = jax.random.split(jax.random.fold_in(key, 0), n)
        x = jax.vmap(lambda k: _row(initial_state(model, k, theta)))(keys)
        times = jnp.arange(1, len(rows) + 1)
        each = (times, rows, inputs, _pairs(inputs, len(rows)))
        _, increments = jax.lax.scan(step, (x, jnp.full(n, 1 / n)), each)
        return jnp.sum(increments)


@eqx.filter_jit
def log_likelihoods(
    keys: Key[Array, " n"],
    filter_: LearnedFilter,
    z: Float[Array | np.ndarray, "n size"],
    rows: Float[Array | np.ndarray, "n T ..."],
    inputs: Float[Array | np.ndarray, "n T d_u"] | None,
) -> Float[Array, " n"]:
    """Of n series, each at a z of its own."""
    known = None if inputs is None else jnp.asarray(inputs)
    return jax.vmap(filter_)(keys, jnp.asarray(z), jnp.asarray(rows), known)


def _pairs(inputs: Float[Array, "T ..."] | None, length: int) -> Float[Array, "T 2 d_u"]:
    """Inputs of the time before and of each time; those before the first are its own."""
    now = jnp.zeros((length, 0)) if inputs is None else inputs.reshape(length, -1)
    return jnp.stack([jnp.concatenate([now[:1], now[:-1]]), now], axis=1)


def _row(state: State) -> Float[Array, " d_x"]:
    return jnp.concatenate([jnp.ravel(leaf).astype(float) for leaf in jax.tree.leaves(state)])


def _weigh(
    x: Float[Array, "n d_x"], weights: Float[Array, " n"], density: Float[Array, " n"]
) -> tuple[tuple[Array, Array], Array]:
    """Particles with new weights, and the log of their mean density."""
    top = jnp.max(jnp.where(weights > 0, density, -jnp.inf))
    alive = jnp.isfinite(top)
    joint = weights * jnp.exp(jnp.where(weights > 0, density, -jnp.inf) - jnp.where(alive, top, 0.0))
    total = jnp.sum(joint)
    new = jnp.where(alive, joint / jnp.where(alive, total, 1.0), 1 / len(weights))
    return (x, new), jnp.where(alive, top + jnp.log(jnp.where(alive, total, 1.0)), IMPOSSIBLE)
