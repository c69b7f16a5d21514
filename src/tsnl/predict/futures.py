"""Futures of an observed series, given theta: by a learned kernel, or by the model's own laws."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from tsnl.kernel.fitted import Kernel
from tsnl.kernel.memory.base import State as MemoryState
from tsnl.likelihood.kalman import filter_moments
from tsnl.likelihood.particle import bootstrap, require_filterable
from tsnl.likelihood.paths import gaussian
from tsnl.models.base import State, StateSpaceModel, Theta
from tsnl.models.linear_gaussian import LinearGaussian
from tsnl.predict.draws import each_draw, without_failed
from tsnl.predict.states import filterable_rows, without_collapsed
from tsnl.problem import Problem
from tsnl.problem.prior import Prior


def kernel_futures(
    key: Key[Array, ""],
    problem: Problem,
    kernel: Kernel,
    theta: dict[str, np.ndarray],
    inputs: Float[np.ndarray, "horizon d_u"],
) -> Float[np.ndarray, "draw horizon d_y"]:
    """Roll the learned kernel forward from the end of the series, once for each draw of theta."""
    memory = kernel.remember(problem.series, problem.all_inputs(0, 1)[0])
    time = jnp.asarray(len(problem.series))
    law = KernelFuture(problem.prior, kernel, memory, jnp.asarray(inputs, dtype=float), time)
    return _finite(each_draw(key, law, theta))


class KernelFuture(eqx.Module):
    r"""\(y_t \sim q(y_t \mid \text{past}_t, \theta)\), row after row, each one the past of the next.

    Attributes:
        prior: turns theta into what the kernel knows.
        kernel: the kernel.
        memory: what it keeps of the observed series.
        inputs: known inputs of the rows to come; no columns where there are none.
        time: of the first row to come, counted from 0.
    """

    prior: Prior = eqx.field(static=True)
    kernel: Kernel
    memory: MemoryState
    inputs: Float[Array, "horizon d_u"]
    time: Int[Array, ""]

    def __call__(self, key: Key[Array, ""], theta: Theta) -> Float[Array, "horizon d_y"]:
        """Draw the rows, in the user's units."""
        scaling = self.kernel.scaling
        z = scaling.standardise_z(self.prior.unconstrain(theta))

        def step(memory: MemoryState, now: tuple[Array, Array]) -> tuple[MemoryState, Array]:
            key, u = now
            v = self.kernel.sample(key, self.kernel.next_features(memory, u), z)
            y = self.kernel.restore(v)  # counts are rounded before they are remembered
            return self.kernel.push(memory, scaling.standardise(y), jnp.ones(v.shape, bool), u), y

        keys = jax.random.split(key, len(self.inputs))
        return jax.lax.scan(step, self.memory, (keys, scaling.standardise_u(self.inputs, self.time)))[1]


def simulator_futures(
    key: Key[Array, ""],
    problem: Problem,
    theta: dict[str, np.ndarray],
    inputs: Float[np.ndarray, "horizon d_u"],
    num_particles: int,
) -> Float[np.ndarray, "draw horizon d_y"]:
    """Filter the states and run the laws on from the end of the series, once for each draw of theta.

    Raises:
        TypeError: the model has no `log_observation`.
    """
    model = problem.laws
    if isinstance(model, LinearGaussian):
        with jax.enable_x64(True):
            exact = LinearFuture(model, jnp.asarray(problem.series), len(inputs))
            return _finite(each_draw(key, exact, theta))
    rows = filterable_rows(problem, num_particles)
    known = None
    if problem.inputs is not None:
        known = (jnp.asarray(problem.inputs[0], dtype=float), jnp.asarray(inputs, dtype=float))
    law = ParticleFuture(model, rows, known, num_particles, len(inputs))
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
        return future(key_future, self.model, theta, last, self.rows.shape[0], self.horizon, None)


class ParticleFuture(eqx.Module):
    """A future from a state at the end of the series, drawn by a particle filter of its own."""

    model: StateSpaceModel
    rows: Float[Array, "T ..."]
    inputs: tuple[Float[Array, "T d_u"], Float[Array, "horizon d_u"]] | None
    num_particles: int = eqx.field(static=True)
    horizon: int = eqx.field(static=True)

    def __call__(
        self, key: Key[Array, ""], theta: Theta
    ) -> tuple[Float[Array, "horizon d_y"], Bool[Array, ""]]:
        """Draw it; and whether the filter kept particles to the end."""
        keys = jax.random.split(key, 3)
        model = require_filterable(self.model)
        before, after = (None, None) if self.inputs is None else self.inputs
        found = bootstrap(keys[0], model, theta, self.rows, self.num_particles, before)
        place = jax.random.categorical(keys[1], jnp.log(found.weights))
        last = jax.tree.map(lambda x: x[place], found.particles)
        rows = future(keys[2], self.model, theta, last, self.rows.shape[0], self.horizon, after)
        return rows, found.log_likelihood > -jnp.inf


def future(
    key: Key[Array, ""],
    model: StateSpaceModel,
    theta: Theta,
    state: State,
    time: int,
    horizon: int,
    inputs: Float[Array, "horizon d_u"] | None,
) -> Float[Array, "horizon d_y"]:
    """Run the laws on from the state x_time."""
    theta = model.complete(theta)

    def step(state: State, now: tuple[Int[Array, ""], Any]) -> tuple[State, Array]:
        t, u = now
        key_x, key_y = jax.random.split(jax.random.fold_in(key, t))
        state = model.sample_transition(key_x, state, theta, t, u)
        y = model.sample_observation(key_y, state, theta, t, u)
        return state, jnp.atleast_1d(jnp.asarray(y, dtype=float))

    return jax.lax.scan(step, state, (time + 1 + jnp.arange(horizon), inputs))[1]


def _finite(draws: Float[np.ndarray, "draw horizon d_y"]) -> Float[np.ndarray, "kept horizon d_y"]:
    alive = np.isfinite(draws).all(axis=(1, 2))
    remedy = "the law breaks down at these draws of theta."
    return without_failed(draws.astype(float), alive, "futures are not finite", remedy)
