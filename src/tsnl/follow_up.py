"""What can be asked of a result without a new inference: exact posterior, evidence, other priors."""

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import jax

from tsnl.likelihood.target import has_target
from tsnl.methods import Correct
from tsnl.methods.api import Inference, check_capabilities
from tsnl.methods.particle.kernel_error import kernel_error
from tsnl.methods.particle.second import BEFORE, Second, draft_of
from tsnl.methods.prior_change import reweighed
from tsnl.posterior.evidence import Evidence, tempered_evidence
from tsnl.problem import Prior
from tsnl.runtime.checked import check_field, check_seed, whole_number
from tsnl.runtime.progress import progress_for
from tsnl.runtime.reader import remedy
from tsnl.runtime.seeds import key_of
from tsnl.sampling.importance import MAX_K_HAT
from tsnl.store import results
from tsnl.store.folder import RunFolder
from tsnl.store.place import as_folder

if TYPE_CHECKING:
    from tsnl.result import Result


@dataclass(frozen=True, repr=False)
class FollowUp(Inference):
    """Questions that go on from draws; the result itself is left as it is."""

    def __repr__(self) -> str:
        from tsnl.show.card import result_text  # takes seconds to import

        return result_text(self)

    def _repr_html_(self) -> str:
        from tsnl.show.card import result_html

        return result_html(self)

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
            ValueError: it is corrected already, a row is missing in part, the budget is too small, or
                the folder holds the correction of another result.
            FloatingPointError: no filter can explain the series at any draw.
        """
        from tsnl.result import Result, load  # which is made of this

        check_field("progress", progress, bool)
        check_field("resume", resume, bool)
        draft, problem, seed = draft_of(self), self.problem, check_seed(seed)
        method = replace(method or Correct(), first=self.method)
        check_capabilities(method, problem)
        store = None
        if folder is not None:
            store = RunFolder.open(as_folder(folder), problem, method, seed, resume, self)
            if store.finished:
                return load(folder, model=problem.model, prior=problem.prior)
            problem = replace(problem, store=store)
        watcher = progress_for(progress)
        try:
            outcome = method.improve(key_of(seed), problem, draft, watcher)
        finally:
            watcher.close()
        found = Result.of(problem, method, outcome, seed)
        if store is not None:
            results.write(store.path, found, store.mark)
        return found

    def evidence(
        self, *, seed: int = 0, num_particles: int = 250, num_runs: int = 8, num_filters: int = 64
    ) -> Evidence:
        """The log-evidence log p(y) with its standard error.

        Of a result of `tsnl.Correct` that of its weights, by the right likelihood; of others by
        sequential Monte Carlo from the prior to the posterior, with the kernel and without a simulation.
        That rests on the kernel alone, and the note says so; where the model has densities, some filter
        runs at draws say how far it is off, with a warning where that is certain and matters.

        Args:
            seed: one integer.
            num_particles: of each run.
            num_runs: whose spread is the standard error.
            num_filters: draws, at most 64, where the kernel is held against the right likelihood, by a
                filter of 100 particles each, or by the exact one; 0 for none.

        Raises:
            TypeError: there is no posterior as a function.
        """
        if "log_evidence" in self.history[-1]:
            record = self.history[-1]
            source = "particle filters" if record["num_particles"] else "exact likelihood"
            off = record["k_hat"] > MAX_K_HAT
            note = f"k-hat {record['k_hat']:.2f}: a part of it may be missing" if off else ""
            return Evidence(record["log_evidence"], record["log_evidence_se"], source, note)
        if self.posterior is None:
            raise TypeError(
                f"{type(self.method).__name__} has no likelihood to average over the prior: use TSNL."
            )
        whole_number("num_filters", num_filters, 0)
        options = {"num_particles": num_particles, "num_runs": num_runs}
        found = tempered_evidence(self.posterior, seed=seed, **options)
        return found if found.source != "kernel" else self._by_kernel(found, seed, num_filters)

    def _by_kernel(self, found: Evidence, seed: int, num_filters: int) -> Evidence:
        """With what there is to say of an evidence that rests on a kernel."""
        text, nats = "it rests on the kernel alone", None
        if not has_target(self.problem):
            text += ", and no densities are known to correct it by: "
            text += remedy(python="see result.check(local=True)", command="see tsnl check RUN --local")
            return replace(found, note="; ".join(filter(None, [found.note, text])))
        how = remedy(python="result.correct(seed=0).evidence()", command="tsnl correct RUN")
        if BEFORE in self.arrays:
            how = remedy(python="correct by tsnl.Correct()", command="tsnl correct without --delayed")
        if num_filters:
            assert self.posterior is not None
            key, z = jax.random.fold_in(key_of(seed), 1), self.arrays.get(BEFORE, self.unconstrained())
            error = kernel_error(key, self.problem, self.posterior, z, num_filters)
            text, nats = f"{text}, and {error}", error.nats
            if error.matters:
                warnings.warn(f"The log-evidence is off: {error}. Better: {how}.", stacklevel=3)
        note = "; ".join(filter(None, [found.note, f"{text}; better: {how}"]))
        return replace(found, note=note, kernel_error=nats)

    def with_prior(self, prior: Prior, *, seed: int = 0) -> "Result":
        """The posterior under another prior of the same parameters: these draws, weighed anew.

        `history[-1]` has k-hat and the effective size; above 0.7 the priors are too far apart for these
        draws, a warning says so, and the status too.

        Args:
            prior: over the same names, and nowhere that the old one excluded.
            seed: of the resampling.

        Raises:
            TypeError: it is no prior.
            ValueError: other names, or a support that reaches beyond the old one.
            FloatingPointError: no draw is possible under it.
        """
        from tsnl.result import Result  # which is made of this

        problem, outcome = reweighed(self, prior, seed)
        return Result.of(problem, self.method, outcome, self.seed)
