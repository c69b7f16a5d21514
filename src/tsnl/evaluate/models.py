"""Which of several models do the data prefer?"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from tsnl.checks.checks import learned_likelihood
from tsnl.methods.api import Inference
from tsnl.posterior import Stream
from tsnl.posterior.evidence import Evidence
from tsnl.result import Result
from tsnl.runtime import html
from tsnl.runtime.checked import check_field, fits, whole_number
from tsnl.runtime.reader import remedy
from tsnl.runtime.table import Table

PARTICLES = 1000  # that follow the second part of the series


@dataclass(frozen=True)
class Comparison:
    """Models side by side, on the same data.

    Attributes:
        evidences: name to log-evidence, with its standard error.
        probabilities: name to posterior probability, all models together.
        scores: name to the one-step-ahead log-score of each row after `first`, the parameters known from
            the rows before it alone (leave-future-out); empty where they were not asked for.
        first: rows before the first that is scored.
        notes: what to be careful of.
    """

    evidences: dict[str, Evidence]
    probabilities: dict[str, float]
    scores: dict[str, Float[np.ndarray, " rows"]]
    first: int
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> str:
        """The model of the largest evidence."""
        return max(self.evidences, key=lambda name: self.evidences[name].log_evidence)

    def log_bayes_factor(self, one: str, other: str) -> tuple[float, float]:
        """How much better one model explains the data than another, and the standard error."""
        a, b = self.evidences[one], self.evidences[other]
        return a.log_evidence - b.log_evidence, float(np.hypot(a.se, b.se))

    def score_difference(self, one: str, other: str) -> tuple[float, float]:
        """The sum of differences of one-step scores, and its standard error over rows."""
        gaps = self.scores[one] - self.scores[other]
        gaps = gaps[np.isfinite(gaps)]
        return float(gaps.sum()), float(np.sqrt(len(gaps)) * gaps.std(ddof=1))

    def table(self) -> Table:
        """A row for each model, the best first."""
        head = ["model", "log-evidence", "Bayes factor", "probability"]
        rows = []
        for name, found in sorted(self.evidences.items(), key=lambda x: -x[1].log_evidence):
            gap, _ = self.log_bayes_factor(name, self.best)
            row = [name, f"{found.log_evidence:.2f} ± {found.se:.2f}", f"{np.exp(gap):.3g}"]
            row.append(f"{self.probabilities[name]:.3f}")
            if self.scores:
                total, se = self.score_difference(name, self.best)
                row.append("0" if name == self.best else f"{total:+.2f} ± {se:.2f}")
            rows.append(row)
        return Table("Models", head + (["one-step score"] if self.scores else []), rows)

    def _words(self) -> list[str]:
        return [f"Bayes factors and scores are against {self.best}.", *self.notes]

    def __str__(self) -> str:
        return "\n".join([self.table().text(), *self._words()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        lines = [html.paragraph(text) for text in self._words()]
        return html.card(f"{len(self.evidences)} models", html.table(self.table()), *lines)

    def plot(self, path: str | Path | None = None) -> Any:
        """Log-evidences with their errors, and how the scores part along time; a figure."""
        from tsnl.show.plots import saved
        from tsnl.show.plots.models import models_figure

        gaps = {name: np.nancumsum(self.scores[name] - self.scores[self.best]) for name in self.scores}
        bars = {name: (e.log_evidence, e.se) for name, e in self.evidences.items()}
        return saved(models_figure(bars, gaps, self.first), path)


def compare_models(
    results: Mapping[str, Result],
    *,
    prior: Mapping[str, float] | None = None,
    scores: bool = True,
    first: int | None = None,
    seed: int = 0,
) -> Comparison:
    """Evidences, Bayes factors, posterior probabilities and one-step scores of models of the same data.

    Corrected results are compared by the right likelihood, others by their kernels: a kernel that is
    off by a tenth of a nat in each row is off by ten nats in a hundred, so compare corrected results
    where the models have densities, and look at the scores and the checks where they have none.

    Args:
        results: name to result, two at least.
        prior: name to prior probability; all alike where None.
        scores: whether to score the rows one step ahead, by the kernels.
        first: rows to learn from before the first that is scored; half of them where None.
        seed: one integer.

    Raises:
        ValueError: fewer than two, other data, or probabilities beside densities.
        TypeError: a result has no likelihood.
    """
    _check(results)
    check_field("scores", scores, bool)
    length = next(iter(results.values())).problem.length
    if first is not None and not 1 < whole_number("first", first, 2) < length - 1:
        raise ValueError(f"first is {first}, expected 2 to {length - 2} of the {length} rows.")
    weights = _prior(list(results), prior)
    evidences = {name: result.evidence(seed=seed) for name, result in results.items()}
    joint = np.array([evidences[name].log_evidence + np.log(weights[name]) for name in results])
    share = np.exp(joint - logsumexp(joint))
    notes = [f"{name}: {found.note}." for name, found in evidences.items() if found.note]
    notes += _kernel_notes(evidences)
    begin = max(length // 2, 2) if first is None else first
    found_scores: dict[str, np.ndarray] = {}
    if scores:
        found_scores, more = _all_scores(results, begin, seed)
        notes += more
    probabilities = dict(zip(results, share.tolist(), strict=True))
    return Comparison(evidences, probabilities, found_scores, begin, tuple(notes))


def _kernel_notes(evidences: Mapping[str, Evidence]) -> list[str]:
    """What to be careful of where evidences rest on kernels."""
    notes, sources = [], {found.source for found in evidences.values()}
    if len(sources) > 1:
        notes.append(f"The evidences are of different kinds: {', '.join(sorted(sources))}.")
    told = {name: found.log_evidence for name, found in evidences.items()}
    right = {name: told[name] - (found.kernel_error or 0.0) for name, found in evidences.items()}
    best, other = (max(values, key=lambda name: values[name]) for values in (told, right))
    if best != other and np.isfinite(list(right.values())).all():
        notes.append(f"Less what the kernels are off by, {other} has the largest evidence.")
    return notes


def _check(results: Mapping[str, Any]) -> None:
    if len(results) < 2:
        two = remedy(python="{'a': one, 'b': other}", command="tsnl compare-models run-a run-b")
        raise ValueError(f"{len(results)} model(s): give at least two, as in {two}.")
    for name, result in results.items():
        if not isinstance(result, Result):
            raise TypeError(f"{name} is a {type(result).__name__}, expected a result of tsnl.infer.")
    (name, one), *others = results.items()
    for other_name, other in others:
        a, b = one.problem.panel, other.problem.panel
        if [x.shape for x in a] != [x.shape for x in b] or not all(
            np.array_equal(x, y, equal_nan=True) for x, y in zip(a, b, strict=True)
        ):
            raise ValueError(
                f"{name} and {other_name} are of different data: evidences compare models of the same."
            )
        if discrete(one) != discrete(other):
            which = {True: "probabilities of counts", False: "densities of reals"}
            raise ValueError(
                f"{name} gives {_kinds(one, which)} and {other_name} {_kinds(other, which)}: these have "
                f"no common scale. Let both simulators give integers, and infer with the same "
                f"{remedy(python='counts=', command='--set counts=')}."
            )


def discrete(result: Inference) -> tuple[bool, ...]:
    """Which columns have probabilities, not densities: by the kernel, or by the model's simulations."""
    likelihood = learned_likelihood(result)
    d_y = result.problem.d_y
    if likelihood is not None and "log_evidence" not in result.history[-1]:
        spec = likelihood.kernel.spec
        return tuple(spec.integer)[:d_y] if spec.discrete else (False,) * d_y
    if "simulated.series" in result.arrays:
        rows = result.arrays["simulated.series"].reshape(-1, d_y)
        return tuple(((rows == np.round(rows)) | ~np.isfinite(rows)).all(axis=0).tolist())
    return (False,) * d_y


def _kinds(result: Inference, which: dict[bool, str]) -> str:
    return " and ".join(sorted({which[one] for one in discrete(result)}))


def _prior(names: list[str], prior: Mapping[str, float] | None) -> dict[str, float]:
    if prior is None:
        return dict.fromkeys(names, 1.0)
    if set(prior) != set(names) or not all(fits(value, float) and value > 0 for value in prior.values()):
        raise ValueError(f"prior is {dict(prior)}, expected a positive number for each of {names}.")
    return dict(prior)


def _all_scores(
    results: Mapping[str, Result], first: int, seed: int
) -> tuple[dict[str, np.ndarray], list[str]]:
    """One-step scores of all models; none, and why, where one of them has no kernel of rows."""
    for name, result in results.items():
        likelihood = learned_likelihood(result)
        if likelihood is None or likelihood.kernel.spec.whole or len(result.problem.panel) > 1:
            return {}, [f"No one-step scores: {name} has no kernel of one series' rows."]
    notes, found = [], {}
    for name, result in results.items():
        found[name], outside = one_step_scores(result, first, seed)
        if outside:
            notes.append(f"{name}: {outside} scored rows lie outside what its kernel has seen.")
    return found, notes


def one_step_scores(result: Result, first: int, seed: int) -> tuple[Float[np.ndarray, " rows"], int]:
    """Log-scores of the rows after the first ones, and how many lie outside the kernel's region."""
    assert result.posterior is not None
    series, inputs = result.problem.series, result.problem.inputs
    known = (None, None) if inputs is None else (inputs[0][:first], inputs[0][first:])
    given = (result.posterior, series[:first], known[0])
    stream = Stream.begin(*given, seed=seed, num_particles=PARTICLES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # counted below
        stream = stream.update(series[first:], known[1])
    outside = np.array(stream.distances) > 1
    return np.array(stream.scores), int(outside.sum())
