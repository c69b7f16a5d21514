"""Markov chains side by side: warm-up, draws, checks, and more steps where they fall short."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import jax
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.runtime.checked import check_fields
from tsnl.sampling import diagnostics
from tsnl.sampling.chains import BLOCK, FROZEN, advance, fit, start, steer, warm_up
from tsnl.sampling.metropolis import rescue
from tsnl.sampling.transitions import TRANSITIONS, State
from tsnl.store.registry import register

FEW = 1  # parameters that a random walk is the best for
HARD = 0.15  # share of the effective size asked for: where less is in sight, gradients are to help
TURNS = 4  # extensions that it takes to learn how to take turns with them
STEERING = 2**31 - 1  # the number of the key that steers them


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
        target_ess: of chains that have reached all that, sample on while it is below this too; None asks
            for no more, and lets T-SNL and SNL ask for more where there are more simulations.
        max_extensions: how often to go on for as many draws again, before giving up.
    """

    transition: Literal["auto", "random_walk", "mixed", "elliptical_slice", "nuts"] = "auto"
    num_chains: int = 8
    num_warmup: int = 150
    num_draws: int = 300
    max_r_hat: float = 1.01
    min_ess: int = 1000
    target_ess: int | None = None
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
    states = start(log_density, np.asarray(points), np.asarray(spread), options.num_chains)
    transition = options.transition_for(states.z.shape[1])
    first = np.asarray(spread)
    states, tuning = warm_up(keys[0], log_density, states, first, transition, options.num_warmup)
    states, num_restarted = rescue(keys[1], states)
    num_refits = min(TRANSITIONS[transition].num_refits, options.max_extensions)
    moves = [(transition, tuning)]
    kept: list[State] = []
    wanted, num_blocks, mixed = 0, 0, False
    for left in reversed(range(options.max_extensions + 1)):
        wanted += options.num_draws
        while len(kept) * BLOCK < wanted:
            name, tuning = moves[num_blocks % len(moves)]
            key_block = jax.random.fold_in(keys[2], num_blocks)
            states, _, path = advance(key_block, log_density, states, tuning, FROZEN, name)
            kept.append(jax.tree.map(np.asarray, path))
            num_blocks += 1
        draws = Draws.of(kept, wanted, num_restarted, options)
        mixed |= draws.healthy
        if not left or (draws.healthy and draws.ess >= (options.target_ess or 0)):
            break
        if mixed:
            continue  # more of the same
        in_the_end = draws.ess * (1 + left * options.num_draws / wanted)
        hard = left >= TURNS and options.transition == "auto" and in_the_end < HARD * options.min_ess
        if not num_refits and not (hard and len(moves) == 1):
            continue
        pool = draws.z[:, wanted // 3 :].reshape(-1, draws.z.shape[2])
        moves = [(name, fit(tuning, pool, first)) for name, tuning in moves]
        if not num_refits:
            key_steer = jax.random.fold_in(keys[2], STEERING)
            states, steered = steer(key_steer, log_density, states, moves[0][1])
            moves, num_refits = [*moves, ("nuts", steered)], 3
        kept, wanted, num_refits = [], 0, num_refits - 1  # they were a longer warm-up
    return draws
