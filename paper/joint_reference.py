r"""Hamiltonian Monte Carlo over the parameters and the log-volatilities together.

Particle MCMC needs a filter of many particles for five assets, most of whose proposals are lost to the
noise of its estimate. Here the states are sampled too, as the noises that make them,
\(x_0 = \mu_0 + \Sigma_0^{1/2} e_0\), \(x_t = A x_{t-1} + b + Q^{1/2} e_t\), so that
\(p(z, e_{0:T} \mid y) \propto p(z) \, N(e; 0, I) \prod_t p(y_t \mid x_t, z)\)
is smooth and nearly normal in e: the no-U-turn sampler takes it in hundreds of dimensions. Draws of e
are left out at the end.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from paper.problems import Setting
from tsnl.models import StochasticVolatility
from tsnl.models.arrays import apply, factor, vector
from tsnl.problem.prior import Prior

NUM_CHAINS = 4


class Joint(eqx.Module):
    """The log-density of z and the noises, given a series."""

    prior: Prior = eqx.field(static=True)
    model: StochasticVolatility
    rows: Float[Array, "T size"]

    def __call__(self, point: dict[str, Array]) -> Float[Array, ""]:
        """At a point (z, noise)."""
        theta = self.model.complete(self.prior.constrain(point["z"]))
        first = vector(theta["mu_0"], self.model.size) + apply(
            factor(theta["Sigma_0"]), point["noise"][0]
        )
        root, drift = factor(theta["Q"]), vector(theta["b"], self.model.size)

        def step(x: Array, e: Array) -> tuple[Array, Array]:
            x = apply(theta["A"], x) + drift + apply(root, e)
            return x, x

        _, states = jax.lax.scan(step, first, point["noise"][1:])
        times = jnp.arange(1, len(self.rows) + 1)
        log_y = jax.vmap(lambda y, x, t: self.model.log_observation(y, x, theta, t, None))
        prior = self.prior.log_prob_unconstrained(point["z"]) - 0.5 * jnp.sum(point["noise"] ** 2)
        return prior + jnp.sum(log_y(self.rows, states, times))


def draw_joint(
    setting: Setting, seed: int, num_warmup: int, num_draws: int
) -> Float[np.ndarray, "chain draw size"]:
    """Draws of z for the observed series of a seed, started around the truth."""
    problem = setting.observe(seed)
    model: Any = problem.model
    target = Joint(setting.prior, model, jnp.asarray(problem.series, dtype=float))
    key = jax.random.fold_in(jax.random.key(2025), seed)
    near = 0.1 * jax.random.normal(jax.random.fold_in(key, NUM_CHAINS), (NUM_CHAINS, setting.prior.size))
    start = setting.prior.unconstrain(setting.truth) + near
    keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(NUM_CHAINS))
    return np.asarray(_chains(keys, target, start, num_warmup, num_draws), dtype=np.float64)


@eqx.filter_jit
def _chains(
    keys: Key[Array, " chain"],
    target: Joint,
    start: Float[Array, "chain size"],
    num_warmup: int,
    num_draws: int,
) -> Float[Array, "chain draw size"]:
    """One chain after the other: side by side, each step would wait for the longest trajectory."""
    import blackjax  # slow to import

    shape = (len(target.rows) + 1, target.model.size)

    def chain(now: tuple[Key[Array, ""], Array]) -> Array:
        key, z = now
        key_warm, key_draw = jax.random.split(key)
        warmup: Any = blackjax.window_adaptation(blackjax.nuts, target)
        (state, tuned), _ = warmup.run(key_warm, {"z": z, "noise": jnp.zeros(shape)}, num_warmup)
        kernel = blackjax.nuts(target, **tuned)

        def step(state: Any, key: Array) -> tuple[Any, Array]:
            state, _ = kernel.step(key, state)
            return state, state.position["z"]

        return jax.lax.scan(step, state, jax.random.split(key_draw, num_draws))[1]

    return jax.lax.map(chain, (keys, start))
