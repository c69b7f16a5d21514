"""Futures of an observed series, given theta: by a learned kernel, or by the model's own laws."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from tsnl.density.kernel import Kernel
from tsnl.draws import each_draw, without_failed
from tsnl.likelihood.kalman import filter_moments
from tsnl.likelihood.particle import bootstrap, require_filterable
from tsnl.likelihood.paths import gaussian
from tsnl.models.base import State, StateSpaceModel, Theta
from tsnl.models.linear_gaussian import LinearGaussian
from tsnl.prior import Prior
from tsnl.problem import Problem
from tsnl.states import filterable_rows, without_collapsed
from tsnl.windows import Recent


def kernel_futures(
    key: Key[Array, ""],
    problem: Problem,
    kernel: Kernel,
    theta: dict[str, np.ndarray],
    horizon: int,
    integer: bool,
) -> Float[np.ndarray, "draw horizon d_y"]:
    """Roll the learned kernel forward from the end of the series, once for each draw of theta."""
    rows = jnp.asarray(problem.series, dtype=float)
    seen = ~jnp.isnan(rows)
    recent = _remember(kernel, jnp.where(seen, rows, 0.0), seen)
    law = KernelFuture(problem.prior, kernel, recent, horizon, integer)
    return _finite(each_draw(key, law, theta))


@eqx.filter_jit
def _remember(kernel: Kernel, rows: Float[Array, "T d_y"], seen: Bool[Array, "T d_y"]) -> Recent:
    return Recent.of(kernel.scaling.standardise(rows), seen, kernel.past)


class KernelFuture(eqx.Module):
    r"""\(y_t \sim q(y_t \mid \text{past}_t, \theta)\), row after row, each one the past of the next.

    Attributes:
        prior: turns theta into what the kernel knows.
        kernel: the kernel.
        recent: of the observed series.
        horizon: number of rows.
        integer: whether y counts: rows are rounded before they are remembered.
    """

    prior: Prior = eqx.field(static=True)
    kernel: Kernel
    recent: Recent
    horizon: int = eqx.field(static=True)
    integer: bool = eqx.field(static=True)

    def __call__(self, key: Key[Array, ""], theta: Theta) -> Float[Array, "horizon d_y"]:
        """Draw the rows, in the user's units."""
        scaling = self.kernel.scaling
        z = scaling.standardise_z(self.prior.unconstrain(theta))

        def step(recent: Recent, key: Key[Array, ""]) -> tuple[Recent, Array]:
            v = self.kernel.sample(key, recent.context(), z)
            y = scaling.restore(v)
            if self.integer:
                y = jnp.round(y)
                v = scaling.standardise(y)
            return recent.push(v, jnp.ones(v.shape, bool)), y

        return jax.lax.scan(step, self.recent, jax.random.split(key, self.horizon))[1]


def simulator_futures(
    key: Key[Array, ""],
    problem: Problem,
    theta: dict[str, np.ndarray],
    horizon: int,
    num_particles: int,
) -> Float[np.ndarray, "draw horizon d_y"]:
    """Filter the states and run the laws on from the end of the series, once for each draw of theta.

    Raises:
        TypeError: the model has no `log_observation`.
    """
    model = problem.laws
    if isinstance(model, LinearGaussian):
        with jax.enable_x64(True):
            exact = LinearFuture(model, jnp.asarray(problem.series), horizon)
            return _finite(each_draw(key, exact, theta))
    rows = filterable_rows(problem, num_particles)
    law = ParticleFuture(model, rows, num_particles, horizon)
    futures, alive = each_draw(key, law, theta)
    return _finite(without_collapsed(futures, alive))


class LinearFuture(eqx.Module):
    """A future of a linear-Gaussian model from an exact draw of its last state."""

    model: LinearGaussian
    rows: Float[Array, "T d_y"]
    horizon: int = eqx.field(static=True)

    def __call__(self, key: Key[Array, ""], theta: Theta) -> Float[Array, "horizon d_y"]:
        """Draw it."""
        key_state, key_future = jax.random.split(key)
        means, covariances = filter_moments(self.model, theta, self.rows).filtered
        last = gaussian(key_state, means[-1], covariances[-1])
        return future(key_future, self.model, theta, last, self.rows.shape[0], self.horizon)


class ParticleFuture(eqx.Module):
    """A future from a state at the end of the series, drawn by a particle filter of its own."""

    model: StateSpaceModel
    rows: Float[Array, "T ..."]
    num_particles: int = eqx.field(static=True)
    horizon: int = eqx.field(static=True)

    def __call__(
        self, key: Key[Array, ""], theta: Theta
    ) -> tuple[Float[Array, "horizon d_y"], Bool[Array, ""]]:
        """Draw it; and whether the filter kept particles to the end."""
        keys = jax.random.split(key, 3)
        model = require_filterable(self.model)
        found = bootstrap(keys[0], model, theta, self.rows, self.num_particles)
        place = jax.random.categorical(keys[1], jnp.log(found.weights))
        last = jax.tree.map(lambda x: x[place], found.particles)
        rows = future(keys[2], self.model, theta, last, self.rows.shape[0], self.horizon)
        return rows, found.log_likelihood > -jnp.inf


def future(
    key: Key[Array, ""], model: StateSpaceModel, theta: Theta, state: State, time: int, horizon: int
) -> Float[Array, "horizon d_y"]:
    """Run the laws on from the state x_time."""
    theta = model.complete(theta)

    def step(state: State, t: Int[Array, ""]) -> tuple[State, Array]:
        key_x, key_y = jax.random.split(jax.random.fold_in(key, t))
        state = model.sample_transition(key_x, state, theta, t, None)
        y = model.sample_observation(key_y, state, theta, t, None)
        return state, jnp.atleast_1d(jnp.asarray(y, dtype=float))

    return jax.lax.scan(step, state, time + 1 + jnp.arange(horizon))[1]


def _finite(draws: Float[np.ndarray, "draw horizon d_y"]) -> Float[np.ndarray, "kept horizon d_y"]:
    alive = np.isfinite(draws).all(axis=(1, 2))
    remedy = "the law breaks down at these draws of theta."
    return without_failed(draws.astype(float), alive, "futures are not finite", remedy)
