"""What chains do: start, warm up, learn the shape of the target, and take a block of steps."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.runtime.blocks import by_block
from tsnl.sampling.transitions import TRANSITIONS, State, Tuning, evaluate

BLOCK = 50  # steps of one compiled call
GOOD = 4.0  # nats below the best, for each parameter and one, within which a chain may start far away
SHRINK = 5.0  # pseudo-draws behind the first covariance in each estimate of it
STEERED, FROZEN = np.float32(3.0), np.float32(0.0)  # gains of the step size


def steer(key: Key[Array, ""], log_density: Any, states: State, tuning: Tuning) -> tuple[State, Tuning]:
    """The step size of NUTS, for a target whose covariance is about known."""
    size = np.float32(TRANSITIONS["nuts"].step_size(states.z.shape[1]))
    tuning = tuning._replace(step_size=size.astype(states.z.dtype))
    states, tuning, _ = advance(key, log_density, states, tuning, STEERED, "nuts")
    return states, tuning


_evaluate = eqx.filter_jit(evaluate)


def start(
    log_density: Any,
    points: Float[np.ndarray, "n size"],
    spread: Float[np.ndarray, "size size"],
    num_chains: int,
) -> State:
    """Half of the chains at the best of some points, half at good ones far from all others.

    Points are looked at as many at a time as there are chains: the shape that sampling has.
    """
    values = by_block(lambda part: _evaluate(log_density, part), points, num_chains)
    order = np.argsort(-values, kind="stable")
    white = np.linalg.solve(_factor(spread, spread), points.T).T
    good = order[values[order] >= values[order[0]] - GOOD * (1 + points.shape[1])]
    chosen = order[: num_chains // 2].tolist()
    while len(chosen) < num_chains:
        away = np.min([((white[good] - white[i]) ** 2).sum(axis=1) for i in chosen], axis=0)
        far = int(np.argmax(away))
        chosen.append(int(good[far]) if away[far] > 0 else int(order[len(chosen) % len(order)]))
    best = np.array(chosen)
    nothing = np.zeros(num_chains, bool)
    return State(points[best], values[best], np.ones_like(values[best]), nothing)


def warm_up(
    key: Key[Array, ""],
    log_density: Any,
    states: State,
    spread: np.ndarray,
    transition: str,
    num_steps: int,
) -> tuple[State, Tuning]:
    """Steer the step size at every step, and learn mean and covariance from all chains after a block."""
    size = spread.shape[0]
    step_size = np.float32(TRANSITIONS[transition].step_size(size)).astype(states.z.dtype)
    first = tuning = Tuning(states.z.mean(axis=0), _factor(spread, spread), step_size)
    num_blocks = -(-num_steps // BLOCK)
    for block in range(num_blocks):
        key_block = jax.random.fold_in(key, block)
        states, tuning, path = advance(key_block, log_density, states, tuning, STEERED, transition)
        if block + 1 < num_blocks:  # the last block settles the step size
            tuning = fit(first, np.asarray(path.z)[BLOCK // 3 :].reshape(-1, size), spread)
    return states, tuning


def fit(tuning: Tuning, pool: Float[np.ndarray, "n size"], spread: np.ndarray) -> Tuning:
    """Mean and covariance of a pool of draws, the step size as it was."""
    weight = len(pool) / (len(pool) + SHRINK)
    # what the first guess was, made smaller, keeps a chain that has not moved alive
    covariance = weight * np.atleast_2d(np.cov(pool.T)) + (1 - weight) * 0.1 * spread
    return Tuning(pool.mean(axis=0), _factor(covariance, spread), tuning.step_size)


def _factor(covariance: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """The Cholesky factor, that of another matrix where it has none."""
    ridge = 1e-10 * np.eye(len(covariance))
    try:
        return np.linalg.cholesky(covariance + ridge).astype(otherwise.dtype)
    except np.linalg.LinAlgError:
        return np.linalg.cholesky(otherwise + ridge).astype(otherwise.dtype)


@eqx.filter_jit
def advance(
    key: Key[Array, ""], log_density: Any, states: State, tuning: Tuning, gain: Any, name: str
) -> tuple[State, Tuning, State]:
    """A block of steps of all chains; the path has axes (draw, chain).

    One program for warm-up and draws: the gain, zero for draws, is how fast the step size is steered.
    """
    transition = TRANSITIONS[name]

    def step(carry: tuple[State, Tuning], t: Array) -> tuple[Any, State]:
        states, tuning = carry
        states = transition.step(jax.random.fold_in(key, t), states, log_density, tuning)
        if transition.acceptance is not None:
            error = jnp.mean(states.acceptance) - transition.acceptance
            change = jnp.exp(jnp.clip(gain * error / jnp.sqrt(t + 1.0), -1.0, 1.0))
            tuning = tuning._replace(step_size=tuning.step_size * change)
        return (states, tuning), states

    (states, tuning), path = jax.lax.scan(step, (states, tuning), jnp.arange(BLOCK))
    return states, tuning, path
