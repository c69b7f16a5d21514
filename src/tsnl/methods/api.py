"""What a method of inference is, what it gives back, and what a result is to those who look at it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.kernel.lag import LagChoice
from tsnl.likelihood.particle import require_filterable
from tsnl.posterior import Posterior
from tsnl.problem import Problem
from tsnl.problem.draws import unconstrained
from tsnl.runtime.progress import Progress
from tsnl.runtime.versions import versions


@dataclass(frozen=True)
class Outcome:
    """Draws, and how they came about.

    Attributes:
        z: unconstrained draws of equal weight.
        log_density: of each draw, unnormalised, in unconstrained coordinates; NaN where there is none.
        cost: calls of the dynamics.
        status: what happened, in plain words.
        history: one record for each round or generation, ready for JSON.
        posterior: as a function, where the method has one.
        lag: the lag and why, where the method has one.
        arrays: whatever else is worth keeping, by name.
    """

    z: Float[np.ndarray, "chain draw size"]
    log_density: Float[np.ndarray, "chain draw"]
    cost: int
    status: str
    history: list[dict[str, Any]]
    posterior: Posterior | None = None
    lag: LagChoice | None = None
    arrays: dict[str, np.ndarray] = field(default_factory=dict)


@runtime_checkable
class Method(Protocol):
    """A frozen dataclass of options that can answer a problem; subclass it for the defaults.

    Attributes:
        takes_missing: whether entries of the series may be missing.
        takes_panel: whether there may be several series.
        takes_table: whether simulations made elsewhere will do.
        needs_density: whether the model must have `log_observation`.
    """

    takes_missing: ClassVar[bool] = False
    takes_panel: ClassVar[bool] = False
    takes_table: ClassVar[bool] = False
    needs_density: ClassVar[bool] = False

    def run(self, key: Key[Array, ""], problem: Problem, progress: Progress) -> Outcome:
        """Infer; see `tsnl.infer`. Everything random comes from the key."""
        ...

    def exact_posterior(self, problem: Problem) -> Posterior | None:
        """The posterior as a function, where problem and options alone define it."""
        return None


def check_capabilities(method: Method, problem: Problem) -> None:
    """Refuse what a method cannot take, before anything runs.

    Raises:
        TypeError, ValueError: what it is, and what takes it.
    """
    name = type(method).__name__
    if isinstance(method, type) or not isinstance(method, Method):
        raise TypeError(f"method is {method!r}, expected one such as tsnl.TSNL().")
    if len(problem.panel) > 1 and not method.takes_panel:
        raise ValueError(f"{name} takes one series, {len(problem.panel)} were given: use TSNL.")
    missing = sum(int(np.isnan(one).sum()) for one in problem.panel)
    if missing and not method.takes_missing:
        raise ValueError(
            f"The series has {missing} missing entries, which {name} cannot use yet: "
            f"give a stretch without gaps."
        )
    if not problem.model.can_simulate and not method.takes_table:
        raise TypeError(
            f"{name} simulates, and a {type(problem.model).__name__} has no simulator to call: infer "
            f"from it by TSNL or SNL."
        )
    if method.needs_density:
        require_filterable(problem.laws)


@dataclass(frozen=True)
class Inference:
    """Draws of the posterior, what they cost and how they came about: what checks and pictures look at.

    Attributes:
        draws: name to array (chain, draw, *event).
        log_density: unnormalised, of each draw (chain, draw), in unconstrained coordinates; NaN where
            the method has none.
        cost: calls of the dynamics p(x_t | x_{t-1}).
        status: what happened, in plain words.
        lag: the lag L, and why it was chosen; None where the method has none.
        history: one record for each round or generation: losses, effective sample sizes, seconds.
        arrays: what else the method kept, such as weights and distances of ABC particles, by name.
        posterior: the posterior as a function; None where the method has none.
        problem: the question that was asked.
        method: the options that answered it.
        seed: the seed.
        versions: of Python and the packages that made it.
    """

    draws: dict[str, np.ndarray]
    log_density: np.ndarray
    cost: int
    status: str
    lag: tuple[int, str] | None
    history: list[dict[str, Any]]
    arrays: dict[str, np.ndarray]
    posterior: Posterior | None
    problem: Problem
    method: Method
    seed: int
    versions: Mapping[str, str] = field(default_factory=versions)

    @property
    def transforms(self) -> dict[str, tuple[str, str]]:
        """For each column of y, the transform that the kernel sees it by, and why; empty without one."""
        found = [record["transforms"] for record in self.history if record.get("transforms")]
        pairs = found[-1] if found else []
        return {name: (pair[0], pair[1]) for name, pair in zip(self.problem.names, pairs, strict=False)}

    def coordinates(self) -> dict[str, np.ndarray]:
        """Label of each distinct free entry of theta to its draws (chain, draw)."""
        values = np.asarray(self.problem.prior.coordinates(self.draws))
        return {label: values[..., i] for i, label in enumerate(self.problem.prior.labels)}

    def unconstrained(self) -> Float[np.ndarray, "chain draw size"]:
        """The draws as the sampler saw them."""
        return unconstrained(self.problem.prior, self.draws)
