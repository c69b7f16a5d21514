"""What can be asked of a result without a new inference: the exact posterior."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import jax

from tsnl.methods import Correct
from tsnl.methods.api import Inference, check_capabilities
from tsnl.methods.particle.second import Second, draft_of
from tsnl.runtime.progress import progress_for
from tsnl.store.folder import RunFolder

if TYPE_CHECKING:
    from tsnl.result import Result


@dataclass(frozen=True)
class FollowUp(Inference):
    """Questions that go on from draws; the result itself is left as it is."""

    def correct(
        self,
        method: Second | None = None,
        *,
        seed: int,
        folder: str | Path | None = None,
        resume: bool = False,
        progress: bool = True,
    ) -> "Result":
        """The exact posterior, where the model has `log_observation` or is linear.

        These draws are the proposal; particle filters, or the Kalman filter, weigh them, and chains go
        on from them where the weights are uneven. `history[-1]` has k-hat, the effective size, how far
        the means moved, and the log-evidence; the draws before are in `arrays["correction.before"]`.

        Args:
            method: a `tsnl.Correct` or a `tsnl.DelayedPMMH`, whose `first` is this result's method.
            seed: one integer.
            folder: where to keep filter runs as they finish, then the result.
            resume: go on with the correction in the folder, if there is one, to the same draws.
            progress: show a bar where there is a terminal.

        Raises:
            TypeError: the model has no densities, or the result no posterior as a function.
            ValueError: it is corrected already, a row is missing in part, or the budget is too small.
            FloatingPointError: no filter can explain the series at any draw.
        """
        from tsnl.result import Result, load  # which is made of this

        draft, problem = draft_of(self), self.problem
        method = replace(method or Correct(), first=self.method)
        check_capabilities(method, problem)
        if folder is not None:
            store = RunFolder.open(Path(folder), problem, method, seed, resume)
            if store.finished:
                return load(folder, model=problem.model, prior=problem.prior)
            problem = replace(problem, store=store)
        watcher = progress_for(progress)
        try:
            outcome = method.improve(jax.random.key(seed), problem, draft, watcher)
        finally:
            watcher.close()
        found = Result.of(problem, method, outcome, seed)
        if folder is not None:
            found.save(folder)
        return found
