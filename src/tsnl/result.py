"""What an inference gives back, and how it is kept."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tsnl.checks.checks import check
from tsnl.checks.replicates import Summary
from tsnl.checks.verdict import Report
from tsnl.follow_up import FollowUp
from tsnl.likelihood.paths import Kind
from tsnl.methods.api import Method, Outcome
from tsnl.methods.sequential.refine import refine
from tsnl.posterior import Stream
from tsnl.predict.forecast import Forecast, Source, draw_forecast
from tsnl.predict.states import States, draw_states
from tsnl.predict.track import Track
from tsnl.problem import Problem
from tsnl.problem.draws import constrained, thin
from tsnl.problem.prior import Prior
from tsnl.runtime.checked import whole_number
from tsnl.runtime.seeds import key_of
from tsnl.simulation.failures import FailureLog
from tsnl.store import results


@dataclass(frozen=True, repr=False)
class Result(FollowUp):
    """What `tsnl.infer` gives back: `tsnl.methods.api.Inference` and `tsnl.follow_up.FollowUp`."""

    @staticmethod
    def of(problem: Problem, method: Method, outcome: Outcome, seed: int) -> "Result":
        """Put together what a method returned."""
        problem = replace(problem, store=None)  # what it simulates from now on is not of the run
        return Result(
            draws=constrained(problem.prior, outcome.z),
            log_density=outcome.log_density,
            cost=outcome.cost,
            status=outcome.status,
            lag=None if outcome.lag is None else (outcome.lag.lag, outcome.lag.reason),
            history=outcome.history,
            arrays=outcome.arrays,
            posterior=None if outcome.posterior is None else replace(outcome.posterior, z=outcome.z),
            problem=problem,
            method=method,
            seed=seed,
        )

    def one(self, index: int) -> "Result":
        """The result about one of several observed series: the same draws, that series' question.

        What looks at one series (`states`, `forecast`, `check`, `plot`) works on it.
        """
        problem = self.problem.one(index)
        posterior = self.posterior
        if posterior is not None and posterior.kernel is not None:
            posterior = posterior.given(problem.panel, problem.inputs)
        return replace(self, problem=problem, posterior=posterior)

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The simulations that failed: `number`, `theta` and `reason` of each, at most 10,000."""
        return FailureLog.of_arrays(self.arrays).records(self.problem.prior.constrain_all)

    def states(
        self, kind: Kind = "smooth", *, seed: int, num_draws: int = 200, num_particles: int = 1000
    ) -> States:
        """The states behind the series, by the model's laws: a draw of them for each draw of theta.

        The bands carry what is unknown of the parameters and of the states. `LinearGaussian` is drawn
        exactly; other models by the ancestral path of a bootstrap particle filter, one for each draw.

        Args:
            kind: "smooth", paths given the whole series; "filter", x_t given y_1..y_t, at each t.
            seed: one integer.
            num_draws: how many, evenly out of the posterior draws.
            num_particles: of each filter; many times the length of the series for "smooth".

        Raises:
            TypeError: the model has no `log_observation`.
        """
        whole_number("num_particles", num_particles, 2)
        theta = thin(self.draws, num_draws)
        return draw_states(key_of(seed), self.problem, theta, kind, num_particles)

    def track(
        self, *, seed: int, num_draws: int = 200, num_particles: int = 500, num_theta: int = 2000
    ) -> Track:
        """The state as data arrive: `track.update(rows)` moves theta and the state together.

        Args:
            seed: one integer.
            num_draws: thetas with a particle filter of their own.
            num_particles: of each filter.
            num_theta: particles of the stream that follows theta.

        Raises:
            TypeError: there is no kernel of rows, or the model has no `log_observation`.
        """
        if self.posterior is None or self.posterior.kernel is None:
            raise TypeError(
                f"{type(self.method).__name__} has no learned kernel to stream with: use TSNL."
            )
        known = None if self.problem.inputs is None else self.problem.inputs[0]
        series = self.problem.series
        stream = Stream.begin(self.posterior, series, known, seed=seed, num_particles=num_theta)
        return Track.begin(self.problem.laws, stream, num_draws, num_particles)

    def forecast(
        self,
        horizon: int,
        source: Source = "kernel",
        *,
        inputs: Any = None,
        seed: int,
        num_draws: int = 500,
        num_particles: int = 500,
    ) -> Forecast:
        """The rows that follow the series: one future for each draw of theta.

        Args:
            horizon: how many rows.
            source: "kernel", the learned kernel rolled forward, without a simulation; "simulator", the
                model's laws from a state filtered at the end of the series.
            inputs: known inputs of these rows, (horizon,) or (horizon, d_u), where the series has some.
            seed: one integer.
            num_draws: how many, evenly out of the posterior draws.
            num_particles: of each filter, for the simulator.

        Raises:
            TypeError: there is no kernel of rows, or the model has no `log_observation`.
        """
        whole_number("num_particles", num_particles, 2)
        key, theta = key_of(seed), thin(self.draws, num_draws)
        kernel = None if self.posterior is None else self.posterior.kernel
        return draw_forecast(key, self.problem, kernel, theta, horizon, inputs, source, num_particles)

    def refine(
        self,
        data: Any = None,
        *,
        simulations: int,
        inputs: Any = None,
        seed: int,
        progress: bool = True,
    ) -> "Result":
        """One more round at the current posterior: simulate there, learn from old and new simulations.

        Args:
            data: a `Stream`, whose rows and particles to go on from; another series, or several; or
                None for the same data.
            simulations: series to simulate.
            inputs: known inputs of another series, where the model has some.
            seed: one integer.
            progress: show a bar where there is a terminal.

        Raises:
            TypeError: the result has no kernel of rows.
        """
        problem, outcome = refine(self, data, simulations, inputs, seed, progress)
        return Result.of(problem, self.method, outcome, seed)

    def to_arviz(self) -> Any:
        """An ArviZ DataTree with posterior, sample_stats and observed_data."""
        from tsnl.show.summary import to_arviz  # takes seconds to import

        return to_arviz(self)

    def summary(self) -> Any:
        """A table of each free entry of theta: mean, sd, interval, effective sample size, R-hat."""
        from tsnl.show.summary import summary

        return summary(self)

    def plot(self, path: str | Path | None = None) -> Any:
        """Posterior and prior of every coordinate, and the series; a matplotlib figure."""
        from tsnl.show.plots import posterior_figure, saved

        return saved(posterior_figure(self.problem, self.coordinates()), path)

    def check(
        self,
        *,
        summaries: Mapping[str, Summary] | None = None,
        num_replicates: int = 199,
        refit: bool = True,
        correct: int = 0,
        local: bool = False,
        seed: int = 0,
    ) -> Report:
        """Can it be trusted? All checks that apply, each with a verdict and a remedy.

        Args:
            summaries: name to function of one column (T,), to be checked beside the usual ones.
            num_replicates: series to simulate at draws of the posterior, T calls of the dynamics each;
                0 for none.
            refit: whether to learn the kernel again, with the lag and with twice the lag.
            correct: draws to weigh by the exact likelihood, a filter run each, where the model has
                densities: how far is the posterior off? 0 for none.
            local: whether a classifier is to tell the replicates from the kernel's own series, and the
                kernel to find back their parameters.
            seed: of the replicates and of learning.
        """
        given: Any = {"summaries": summaries, "num_replicates": num_replicates, "refit": refit}
        return check(self, **given, correct=correct, local=local, seed=seed)

    def report(
        self,
        path: str | Path,
        *,
        checks: Report | None = None,
        title: str | None = None,
        num_replicates: int = 99,
        seed: int = 0,
        everything: bool = False,
    ) -> Path:
        """Write one HTML file: verdict, data, posterior, checks, cost; see `tsnl.show.report.write`."""
        from tsnl.show.report import write  # needs jinja2 and matplotlib

        checks = self.check(seed=seed) if checks is None else checks
        shown: dict[str, Any] = {"title": title, "seed": seed, "everything": everything}
        return write(self, path, checks, num_replicates=num_replicates, **shown)

    def save(self, path: str | Path) -> None:
        """Write a folder of plain files: JSON, npz and safetensors.

        What has no plain form, such as a model of your own, is left out: give it to `tsnl.load`. Of a
        function among the method's options, such as a distance, only the name is kept.

        Raises:
            FileExistsError: the folder is that of a run (`infer(..., folder=...)`).
        """
        results.write(Path(path), self)


def load(path: str | Path, *, model: Any = None, prior: Prior | None = None) -> Result:
    """Read what `Result.save` wrote.

    Args:
        path: the folder.
        model: the model, where it is not one of tsnl's own.
        prior: the prior, where one of its distributions could not be saved.

    Raises:
        ValueError: a file is missing, damaged or of a newer version, or model or prior must be given.
    """
    return Result(**results.read(Path(path), model, prior))
