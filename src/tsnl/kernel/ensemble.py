"""Examples in, fitted ensemble out: no windowing and no splitting of its own."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from tsnl.kernel.descent import descend
from tsnl.kernel.examples import Examples
from tsnl.kernel.member import Member
from tsnl.kernel.training import Training, num_looks
from tsnl.runtime.cores import on_all_cores
from tsnl.runtime.reader import option

RETRIES, SMALLER = 3, 0.3


class Fit(NamedTuple):
    """What happened while fitting.

    Attributes:
        held_out_loss: mean -log q of the held-out rows at the best look, over the members.
        history: (look, member), NaN after a member's stop.
        num_steps: steps taken.
        num_retries: how often training diverged and was started again with smaller steps.
        num_left_out: members that diverged at every step size, and were left out.
        weights: of the parts of a stack, none where it is none.
    """

    held_out_loss: float
    history: np.ndarray
    num_steps: int
    num_retries: int
    num_left_out: int = 0
    weights: tuple[float, ...] = ()


def train(
    key: Key[Array, ""],
    members: Member,
    examples: Examples,
    use: Bool[np.ndarray, "M N T"],
    held: Bool[np.ndarray, "M N T"],
    options: Training,
    effort: float = 1.0,
    worth: float = 1.0,
) -> tuple[Member, Fit]:
    """Fit an ensemble by maximum (penalised) likelihood.

    Args:
        key: a JAX random key.
        members: to start from, stacked along a first axis.
        examples: standardised series. With features they are learned from row by row; without, series
            by series, the gradient going through the memory.
        use: the rows that each member learns from.
        held: the rows that each member is held to.
        options: how.
        effort: share of the steps to take, where a rough fit will do.
        worth: what a row counts in the number of steps and against the prior of the weights; less than
            one where series are views of one path.

    Raises:
        FloatingPointError: training diverged at every step size tried.
    """
    rate = options.learning_rate
    looks = num_looks(int(worth * use.sum(axis=(1, 2)).max()), effort, options)
    for retry in range(RETRIES + 1):
        course = jnp.asarray([rate, looks, worth], dtype=float)
        fitted, history, losses = _descend_each(key, members, examples, use, held, course, options)
        good = np.isfinite(losses)
        if good.all() or (retry == RETRIES and good.any()):
            taken = int(np.isfinite(history).any(axis=1).sum()) * options.check_every
            fit = Fit(float(losses[good].mean()), history, taken, retry, int((~good).sum()))
            return _without_failed(fitted, good), fit
        rate *= SMALLER
    raise FloatingPointError(
        f"Training diverged with learning rates from {options.learning_rate} to {rate:.1e}. Look at "
        f"the simulated series for extreme values; {option('transform', 'asinh')} tames wide ranges."
    )


def _without_failed(members: Member, good: Bool[np.ndarray, " M"]) -> Member:
    """Members that diverged replaced by others in turn: shapes stay, the others count for more."""
    if good.all():
        return members
    index = np.where(good, np.arange(len(good)), np.resize(np.flatnonzero(good), len(good)))
    return jax.tree.map(lambda x: x[index] if eqx.is_array(x) else x, members)


def _descend_each(
    key: Key[Array, ""],
    members: Member,
    examples: Examples,
    use: Bool[np.ndarray, "M N T"],
    held: Bool[np.ndarray, "M N T"],
    course: Float[Array, " 3"],
    options: Training,
) -> tuple[Member, Float[np.ndarray, "looks M"], Float[np.ndarray, " M"]]:
    """Each member by itself, one on each core; before them none at all, which compiles the program."""
    keys = jax.random.split(key, len(use))
    arrays, static = eqx.partition(members, eqx.is_array)

    def one(m: int, course: Float[Array, " 3"] = course) -> tuple[Member, Array, Array]:
        own = eqx.combine(jax.tree.map(lambda x: x[m], arrays), static)
        trained = descend(keys[m], own, examples, use[m], held[m], course, options)
        return jax.block_until_ready(eqx.filter(trained, eqx.is_array))

    one(0, course.at[1].set(0.0))  # no steps
    found = on_all_cores(one, range(len(use)))
    fitted = jax.tree.map(lambda *x: jnp.stack(x), *(member for member, _, _ in found))
    history, losses = (np.stack([np.asarray(one[i]) for one in found], axis=-1) for i in (1, 2))
    return eqx.combine(fitted, static), history, losses
