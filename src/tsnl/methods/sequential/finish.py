"""When the law of the states has its say: before the last round, and after it."""

from dataclasses import replace

import jax
from jaxtyping import Array, Key

from tsnl.methods.sequential.options import Sequential
from tsnl.methods.sequential.simulated import Simulated
from tsnl.methods.sequential.state import RoundState, shift
from tsnl.methods.sequential.states import mend
from tsnl.methods.sequential.transition import has_paths
from tsnl.problem import Problem

STATES = 2**31 - 1  # the number of the last step's key
ENOUGH = 40  # simulations from which on the last round is aimed by the states


def knows_states(problem: Problem, options: Sequential, simulated: Simulated) -> bool:
    """Whether the law of the states can be learned."""
    return options.keeps_states(problem) and has_paths(simulated)


def is_before_last(options: Sequential, state: RoundState) -> bool:
    """Whether one round is left, and there are simulations enough to aim it by the states."""
    return len(options.sizes) - state.number == 1 and state.simulated.count >= ENOUGH


def finish(
    key: Key[Array, ""], problem: Problem, options: Sequential, state: RoundState, draft: bool = False
) -> RoundState:
    """What the law of the states says beyond the kernel of rows.

    After the last round that is the answer. Before it, as a draft, it is where to simulate next: the
    kernel of rows may be off, and then so would be the simulations of the last round.
    """
    assert state.draws is not None
    assert state.z is not None
    mended = mend(jax.random.fold_in(key, STATES - draft), problem, options, state, draft)
    last = state.history[-1] | {"states": mended.record}
    if not draft:
        last |= mended.draws.record()
    if mended.correction is not None:
        last["states"]["moved"] = shift(state.z, mended.draws.z)
        last["power"] = 1.0
    return replace(
        state,
        z=mended.draws.z,
        draws=mended.draws,
        correction=None if draft else mended.correction,
        history=(*state.history[:-1], last),
    )
