"""Units of y, from the simulations: where it lies, how wide it spreads, on which scale it is tame."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float, Key

from tsnl.kernel import KernelSpec, Scaling, fit_scaling
from tsnl.kernel.examples import Simulated as Arrays
from tsnl.kernel.learn import learn
from tsnl.kernel.scaling import fit_profile
from tsnl.kernel.select import theta_scores
from tsnl.methods.sequential.options import Sequential
from tsnl.methods.sequential.simulated import Simulated
from tsnl.problem import Problem

ENOUGH = 10  # series of the last round that give units by themselves
TRIED = 0.25  # share of the training steps that a scale is tried with
MANY = 6  # columns from which on they are tried together


def fit_units(spec: KernelSpec, simulated: Simulated, names: Sequence[str]) -> Scaling:
    """Location and scale where the simulations are now: those of the last round, if there are enough.

    The first round's come from the whole prior; what they span says little of where the posterior is.
    """
    number = 0 if spec.whole else simulated.round_.max()  # SNL keeps its first units
    last = simulated.round_ == number
    for some in (last, simulated.round_ >= 0):
        rows = spec.rows(simulated.series[some])
        if some is last and np.isfinite(rows).all(axis=(1, 2)).sum() < ENOUGH:
            continue
        known = None if spec.whole else simulated.inputs[some]
        try:
            scaling = fit_scaling(rows, simulated.z[some], tuple(names), known)
            there = spec.rows(simulated.there.series)
            return fit_profile(scaling, there) if spec.profile[1] else scaling
        except ValueError:
            if some is not last:
                raise
    raise AssertionError("the second try returns or raises")


class Gain(NamedTuple):
    """What a transform brings over none, in nats of the score of a held-out series."""

    mean: float
    error: float

    @staticmethod
    def of(scores: Float[np.ndarray, " _"], none: Float[np.ndarray, " _"]) -> "Gain":
        """Of the scores with it and without; one nat where only without it training diverged."""
        if np.isnan(scores).any():
            return Gain(-np.inf, 0.0)
        gain = np.where(np.isnan(none), 1.0, scores - none)
        return Gain(float(gain.mean()), float(gain.std() / max(np.sqrt(len(gain) - 1), 1.0)))

    @property
    def is_clear(self) -> bool:
        """Whether it is more than chance."""
        return self.mean > max(0.0, 2 * self.error)

    def __str__(self) -> str:
        return f"{self.mean:+.2f} ± {self.error:.2f} nats" if np.isfinite(self.mean) else "diverged"


def choose_transforms(
    key: Key[Array, ""],
    problem: Problem,
    options: Sequential,
    spec: KernelSpec,
    simulated: Simulated,
    chosen: Bool[np.ndarray, " capacity"],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The transform of each column, by how well briefly trained kernels tell parameters apart; and why.

    One other than none is taken where its gain, over series that were held out, is larger than twice
    its standard error.
    """
    found, why = ["none"] * spec.d_y, ["nothing else was tried"] * spec.d_y
    candidates = _candidates(spec, np.concatenate(problem.panel), simulated.there.series)

    def scores(names: Sequence[str]) -> Float[np.ndarray, " n"]:
        scaling = fit_units(spec, simulated, names)
        return _scores(key, problem, options, spec, simulated.all, chosen, scaling)

    first = scores(found) if candidates else np.zeros(0)
    for columns, names in candidates:
        gains = {}
        for name in names:
            tried = [name if j in columns else "none" for j in range(spec.d_y)]
            gains[name] = Gain.of(scores(tried), first)
        clear = {name: gain.mean for name, gain in gains.items() if gain.is_clear}
        best = max(clear, key=clear.__getitem__, default="none")
        for j in columns:
            found[j], why[j] = best, _reason(gains)
    return tuple(found), tuple(why)


def _reason(gains: dict[str, Gain]) -> str:
    """What was tried in the place of none, and how it did."""
    tried = ", ".join(f"{name} {gain}" for name, gain in gains.items())
    return f"how well held-out series tell their parameters, over none: {tried}"


def _candidates(
    spec: KernelSpec, observed: Float[np.ndarray, "rows d_y"], series: Float[np.ndarray, "N T d_y"]
) -> list[tuple[tuple[int, ...], list[str]]]:
    """Columns to be changed together, and the transforms that their values allow."""
    if spec.whole:
        return []
    low = np.fmin(np.nanmin(observed, axis=0), np.nanmin(series, axis=(0, 1)))
    high = np.fmax(np.nanmax(observed, axis=0), np.nanmax(series, axis=(0, 1)))
    integer = spec.integer or (False,) * spec.d_y
    if spec.d_y >= MANY:
        return [(tuple(range(spec.d_y)), ["asinh"])]
    found: list[tuple[tuple[int, ...], list[str]]] = []
    for j in range(spec.d_y):
        names = ["asinh"]
        if not integer[j] and low[j] > 0:
            names.append("log")
        if not integer[j] and low[j] > 0 and high[j] < 1:
            names.append("logit")
        found.append(((j,), names))
    return found


def _scores(
    key: Key[Array, ""],
    problem: Problem,
    options: Sequential,
    spec: KernelSpec,
    simulated: Arrays,
    chosen: Bool[np.ndarray, " capacity"],
    scaling: Scaling,
) -> Float[np.ndarray, " n"]:
    """Of each series that was held out; NaN where training diverged."""
    patterns = [np.isfinite(one) for one in problem.panel]
    given = (spec, scaling, simulated, chosen, patterns, options.training)
    try:
        kernel, _ = learn(key, np.random.default_rng(0), *given, effort=TRIED)
    except FloatingPointError:
        return np.full(1, np.nan)
    rng = np.random.default_rng(0)
    return theta_scores(key, rng, kernel, simulated, chosen, options.training.held_out)
