"""Markov chains side by side: warm-up, draws, checks, and more steps where they fall short."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.runtime.blocks import by_block
from tsnl.runtime.checked import check_fields
from tsnl.sampling import diagnostics
from tsnl.sampling.metropolis import rescue
from tsnl.sampling.transitions import TRANSITIONS, State, Tuning, evaluate
from tsnl.store.registry import register

BLOCK = 50  # steps of one compiled call
FEW = 1  # parameters that a random walk is the best for
GOOD = 4.0  # nats below the best, for each parameter and one, within which a chain may start far away
HARD = 0.15  # share of the effective size asked for: where less is in sight, gradients are to help
TURNS = 4  # extensions that it takes to learn how to take turns with them
STEERING = 2**31 - 1  # the number of the key that steers them
SHRINK = 5.0  # pseudo-draws behind the first covariance in each estimate of it
STEERED, FROZEN = np.float32(3.0), np.float32(0.0)  # gains of the step size


@register
@dataclass(frozen=True)
class MCMC:
    """How to sample.

    Attributes:
        transition: "random_walk", "mixed" (with independent proposals), "elliptical_slice" or "nuts";
            "auto" takes the random walk for one parameter and the mixed one for more, and lets NUTS take
            turns with it where chains are far from what is asked for, as on ridges and with many
            parameters.
        num_chains: chains side by side.
        num_warmup: steps of warm-up for each chain, rounded up to whole blocks of 50.
        num_draws: kept draws of each chain, at first.
        max_r_hat: sample on while any coordinate's R-hat is above this.
        min_ess: sample on while any coordinate's effective sample size is below this.
        max_extensions: how often to go on for as many draws again, before giving up.
    """

    transition: Literal["auto", "random_walk", "mixed", "elliptical_slice", "nuts"] = "auto"
    num_chains: int = 8
    num_warmup: int = 150
    num_draws: int = 300
    max_r_hat: float = 1.01
    min_ess: int = 1000
    max_extensions: int = 10

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("num_chains", "num_warmup", "num_draws"):
            if getattr(self, name) < (2 if name == "num_chains" else 10):
                raise ValueError(f"{name} is {getattr(self, name)}: too few to sample and check.")

    def transition_for(self, size: int) -> str:
        """The transition for so many parameters."""
        if self.transition != "auto":
            return self.transition
        return "random_walk" if size <= FEW else "mixed"


@dataclass(frozen=True)
class Draws:
    """Draws of z and how they came about.

    Attributes:
        z: (chain, draw, size).
        log_density: (chain, draw), unnormalised.
        r_hat: largest R-hat of all coordinates.
        ess: smallest effective sample size of all coordinates.
        acceptance: mean acceptance probability.
        num_divergent: steps of NUTS whose trajectory diverged; none for other transitions.
        num_restarted: chains found stuck in a far tail after warm-up and started again.
        healthy: whether R-hat and effective sample size reached what was asked for.
    """

    z: Float[np.ndarray, "chain draw size"]
    log_density: Float[np.ndarray, "chain draw"]
    r_hat: float
    ess: float
    acceptance: float
    num_divergent: int
    num_restarted: int
    healthy: bool

    @staticmethod
    def of(blocks: list[State], num_draws: int, num_restarted: int, options: MCMC) -> "Draws":
        """The first draws of blocks with axes (draw, chain), judged by what the options ask for."""
        columns = zip(*blocks, strict=True)
        path = (np.swapaxes(np.concatenate(column), 0, 1)[:, :num_draws] for column in columns)
        z, log_density, acceptance, divergent = path
        r_hat, ess = float(diagnostics.r_hat(z).max()), float(diagnostics.ess(z).min())
        return Draws(
            z=z,
            log_density=log_density,
            r_hat=r_hat,
            ess=ess,
            acceptance=float(acceptance.mean()),
            num_divergent=int(divergent.sum()),
            num_restarted=num_restarted,
            healthy=r_hat <= options.max_r_hat and ess >= options.min_ess,
        )

    def record(self) -> dict[str, float]:
        """How sampling went in figures, ready for JSON."""
        return {
            "r_hat": self.r_hat,
            "ess": self.ess,
            "acceptance": self.acceptance,
            "restarted_chains": self.num_restarted,
            "divergences": self.num_divergent,
        }

    @property
    def health_note(self) -> str:
        """What a status adds where they are not healthy; "" where they are."""
        return "" if self.healthy else diagnostics.health_note(self.r_hat, self.ess)


def sample(
    key: Key[Array, ""],
    log_density: Callable[[Float[Array, " size"]], Float[Array, ""]],
    points: Float[Array | np.ndarray, "n size"],
    spread: Float[Array | np.ndarray, "size size"],
    options: MCMC,
) -> Draws:
    """Draw from exp(log_density).

    Args:
        key: a JAX random key.
        log_density: unnormalised; an `eqx.Module` with arrays in it is compiled once for all its values.
        points: where to look for the mass; the chains start at the best of them.
        spread: a covariance of the size of the target, where the first steps come from.
        options: which transition, how many chains, and when they are good enough.
    """
    keys = jax.random.split(key, 3)
    states = _start(log_density, np.asarray(points), np.asarray(spread), options.num_chains)
    transition = options.transition_for(states.z.shape[1])
    first = np.asarray(spread)
    states, tuning = _warm_up(keys[0], log_density, states, first, transition, options.num_warmup)
    states, num_restarted = rescue(keys[1], states)
    num_refits = min(TRANSITIONS[transition].num_refits, options.max_extensions)
    moves = [(transition, tuning)]
    kept: list[State] = []
    wanted, num_blocks = 0, 0
    for left in reversed(range(options.max_extensions + 1)):
        wanted += options.num_draws
        while len(kept) * BLOCK < wanted:
            name, tuning = moves[num_blocks % len(moves)]
            key_block = jax.random.fold_in(keys[2], num_blocks)
            states, _, path = _advance(key_block, log_density, states, tuning, FROZEN, name)
            kept.append(jax.tree.map(np.asarray, path))
            num_blocks += 1
        draws = Draws.of(kept, wanted, num_restarted, options)
        if draws.healthy or not left:
            break
        in_the_end = draws.ess * (1 + left * options.num_draws / wanted)
        hard = left >= TURNS and options.transition == "auto" and in_the_end < HARD * options.min_ess
        if not num_refits and not (hard and len(moves) == 1):
            continue
        pool = draws.z[:, wanted // 3 :].reshape(-1, draws.z.shape[2])
        moves = [(name, _fit(tuning, pool, first)) for name, tuning in moves]
        if not num_refits:
            key_steer = jax.random.fold_in(keys[2], STEERING)
            states, steered = _steer(key_steer, log_density, states, moves[0][1])
            moves, num_refits = [*moves, ("nuts", steered)], 3
        kept, wanted, num_refits = [], 0, num_refits - 1  # they were a longer warm-up
    return draws


def _steer(key: Key[Array, ""], log_density: Any, states: State, tuning: Tuning) -> tuple[State, Tuning]:
    """The step size of NUTS, for a target whose covariance is about known."""
    size = np.float32(TRANSITIONS["nuts"].step_size(states.z.shape[1]))
    tuning = tuning._replace(step_size=size.astype(states.z.dtype))
    states, tuning, _ = _advance(key, log_density, states, tuning, STEERED, "nuts")
    return states, tuning


_evaluate = eqx.filter_jit(evaluate)


def _start(
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


def _warm_up(
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
        states, tuning, path = _advance(key_block, log_density, states, tuning, STEERED, transition)
        if block + 1 < num_blocks:  # the last block settles the step size
            tuning = _fit(first, np.asarray(path.z)[BLOCK // 3 :].reshape(-1, size), spread)
    return states, tuning


def _fit(tuning: Tuning, pool: Float[np.ndarray, "n size"], spread: np.ndarray) -> Tuning:
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
def _advance(
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
