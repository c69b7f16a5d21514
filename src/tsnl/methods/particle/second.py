"""What corrects another method's answer: its options, what it starts from, and what it keeps."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import jax
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.kernel.lag import LagChoice
from tsnl.methods.api import Inference, Method, Outcome, check_capabilities
from tsnl.methods.sequential.tsnl import TSNL
from tsnl.posterior import Posterior
from tsnl.problem import Problem
from tsnl.runtime.checked import check_fields
from tsnl.runtime.progress import Progress
from tsnl.runtime.reader import remedy

BEFORE = "correction.before"  # draws of z before the correction, among the arrays of an outcome


@dataclass(frozen=True, kw_only=True)
class Second(Method):
    """A method that takes the answer of a first one as a proposal.

    Attributes:
        first: the method whose posterior, as a function, and whose draws are the proposal.
        num_particles: particles of each filter; "auto" picks them so that the variance of the
            log-likelihood's estimate is near 1 at a central draw. Linear models need none.
        defensive: share of a wide Student's t in the proposal, against tails that are too thin.
        max_cost: most calls of the dynamics beside those of the first method; None for no limit.
    """

    takes_missing: ClassVar[bool] = True
    takes_panel: ClassVar[bool] = True
    needs_density: ClassVar[bool] = True

    first: Method = TSNL()
    num_particles: int | Literal["auto"] = "auto"
    defensive: float = 0.2
    max_cost: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if isinstance(self.first, Second):
            raise ValueError(f"first is a {type(self.first).__name__}, which is exact already.")
        n = self.num_particles
        if n != "auto" and n < 2:
            raise ValueError(f"num_particles is {n!r}, expected 'auto' or a number of at least 2.")
        if not 0 < self.defensive < 1:
            raise ValueError(f"defensive is {self.defensive}, expected a share between 0 and 1.")
        if self.max_cost is not None and self.max_cost < 1:
            name = remedy(python="max_cost", command="--max-cost")
            raise ValueError(f"{name} is {self.max_cost}, expected None or a positive number.")

    def run(self, key: Key[Array, ""], problem: Problem, progress: Progress) -> Outcome:
        """Infer by the first method, then correct; see `tsnl.infer`."""
        check_capabilities(self.first, problem)
        key_first, key_second = jax.random.split(key)
        return self.improve(key_second, problem, self.first.run(key_first, problem, progress), progress)

    def exact_posterior(self, problem: Problem) -> Posterior | None:
        """That of the first method: the correction gives draws, not a density."""
        return self.first.exact_posterior(problem)

    @abstractmethod
    def improve(
        self, key: Key[Array, ""], problem: Problem, draft: Outcome, progress: Progress
    ) -> Outcome:
        """From the answer of the first method to draws of the right posterior."""


def draft_of(result: Inference) -> Outcome:
    """A result as the first method left it.

    Raises:
        TypeError: it has no posterior density.
        ValueError: it is corrected already.
    """
    if BEFORE in result.arrays:
        raise ValueError(
            "This result is corrected already: correct the one that it came from, with another seed or "
            "more draws."
        )
    return Outcome(
        z=result.unconstrained(),
        log_density=result.log_density,
        cost=result.cost,
        status=result.status,
        history=list(result.history),
        posterior=result.posterior,
        lag=None if result.lag is None else LagChoice(*result.lag, {}),
        arrays=dict(result.arrays),
    )


def require_proposal(problem: Problem, draft: Outcome) -> Float[np.ndarray, "n size"]:
    """The draws, of a posterior that is known as a function and is about the same data.

    Raises:
        TypeError: it is not known as a function.
        ValueError: it is of other data.
    """
    if draft.posterior is None:
        raise TypeError(
            "These draws come without a posterior density to weigh them by: infer by TSNL or SNL first."
        )
    other = draft.posterior.panel
    if len(other) != len(problem.panel) or not all(map(_same, other, problem.panel)):
        raise ValueError(
            "The posterior is of another series than the question: infer from that series first, or "
            "correct the result that belongs to it."
        )
    return draft.z.reshape(-1, draft.z.shape[-1])


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and np.array_equal(a, b, equal_nan=True)


@runtime_checkable
class BlockStore(Protocol):
    """Where blocks of estimates are kept, so that a run that was cut off need not make them again."""

    def block(self, name: str) -> dict[str, np.ndarray] | None:
        """What was kept under a name."""
        ...

    def keep_block(self, name: str, arrays: dict[str, Any]) -> None:
        """Keep arrays under a name."""
        ...


def kept(
    problem: Problem, name: str, make: Callable[[], dict[str, np.ndarray]], **given: np.ndarray
) -> dict[str, np.ndarray]:
    """What the problem's store has under a name, or what is made now and kept there.

    Args:
        problem: with a store or without.
        name: of the block.
        make: makes it.
        given: what it was made from, kept beside it.

    Raises:
        ValueError: the store has it, made from something else.
    """
    store = problem.store if isinstance(problem.store, BlockStore) else None
    found = None if store is None else store.block(name)
    if found is None:
        found = {**make(), **given}
        if store is not None:
            store.keep_block(name, found)
    for key, value in given.items():
        if not np.array_equal(found[key], value):
            raise ValueError(
                f"The folder's block {name!r} was made from another result: correct that one, or choose "
                f"another folder."
            )
    return found
