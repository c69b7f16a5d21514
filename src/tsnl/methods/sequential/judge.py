"""Is a filter with the learned law of the states better than the kernel of rows? Series say."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from tsnl.kernel import Kernel
from tsnl.methods.sequential.filtering import BLOCK, MOST_VARIANCE, Runner, variance_of_two
from tsnl.methods.sequential.state import RoundState
from tsnl.methods.sequential.transition import whole_paths
from tsnl.problem import Problem

MOST_NOISE = 4.0  # variance of a log-likelihood, as far as it is believed


def judge(
    key: Key[Array, ""], runner: Runner, problem: Problem, state: RoundState
) -> Float[np.ndarray, " n"]:
    """By how much the filter makes simulated series more probable, at their own parameters.

    With as many particles as it will be run with: what noise takes from it would speak against it.
    """
    whole = np.flatnonzero(whole_paths(state.simulated))[::-1]  # the last ones are nearest the posterior
    wanted = BLOCK * int(runner.growth)
    blocks = np.resize(whole[:wanted], wanted).reshape(-1, BLOCK)
    keys = jax.random.split(key, len(blocks) + 1)
    first = _twice(keys[0], runner, problem, state, blocks[0])
    noise = np.nan_to_num(variance_of_two(*first), nan=MOST_VARIANCE).mean()
    quieter = runner.quieter(float(noise), 1)
    if quieter.num_particles > runner.num_particles:
        first = _twice(keys[-1], quieter, problem, state, blocks[0])
    others = zip(keys[1:-1], blocks[1:], strict=True)
    found = [first, *(_twice(one, quieter, problem, state, some) for one, some in others)]
    return np.concatenate([_gain(two, state, some) for two, some in zip(found, blocks, strict=True)])


def _twice(
    key: Key[Array, ""], runner: Runner, problem: Problem, state: RoundState, some: Int[np.ndarray, " n"]
) -> list[Float[np.ndarray, " n"]]:
    """Two runs of the filter on each of some simulated series."""
    simulated, dtype = state.simulated, jnp.result_type(float)
    rows = simulated.series[some].astype(dtype).reshape(BLOCK, -1, *runner.panel[0].shape[1:])
    known = None if problem.inputs is None else simulated.inputs[some].astype(dtype)
    return [runner.series(one, simulated.z[some], rows, known) for one in jax.random.split(key)]


def _gain(
    twice: list[Float[np.ndarray, " n"]], state: RoundState, some: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Of some simulations, by two runs of the filter on each.

    The log of an unbiased estimate is too low by half its variance, which the two runs show.
    """
    simulated, dtype = state.simulated, jnp.result_type(float)
    assert state.kernel is not None
    series, inputs = simulated.series[some].astype(dtype), simulated.inputs[some].astype(dtype)
    variance = np.minimum((twice[0] - twice[1]) ** 2 / 2, MOST_NOISE)
    found = np.mean(twice, axis=0) + variance.mean() / 2
    own = _by_kernel(state.kernel, series, inputs, simulated.z[some].astype(dtype))
    gain = found - np.asarray(own, dtype=float)
    return np.where(np.isfinite(gain), gain, -1e4)


@eqx.filter_jit
def _by_kernel(
    kernel: Kernel,
    series: Float[Array | np.ndarray, "n T d_y"],
    inputs: Float[Array | np.ndarray, "n T d_u"],
    z: Float[Array | np.ndarray, "n size"],
) -> Float[Array, " n"]:
    """Log-densities of complete series by the kernel of rows."""

    def one(now: tuple[Array, Array, Array]) -> Array:
        rows, u, own = now
        y, known = kernel.scaling.standardise(rows), kernel.scaling.standardise_u(u)
        features = kernel.features(y, jnp.ones(y.shape, bool), known)
        theta = kernel.scaling.standardise_z(own)
        log_q = kernel.log_probs(kernel.targets(rows), features, theta)
        return jnp.sum(log_q) + jnp.sum(kernel.log_jacobian(rows))

    return jax.lax.map(one, tuple(jnp.asarray(x, dtype=float) for x in (series, inputs, z)))
