"""What kernel a run learns: decided on its first simulations, by them."""

from dataclasses import replace

import numpy as np
from jaxtyping import Array, Bool, Key

from tsnl.kernel import KernelSpec
from tsnl.kernel.heads.base import num_weights
from tsnl.kernel.lag import LagChoice, by_acf, by_score
from tsnl.kernel.learn import learn
from tsnl.kernel.member import fresh_head
from tsnl.kernel.scaling import is_stationary
from tsnl.methods.sequential.options import Sequential
from tsnl.methods.sequential.simulated import Simulated, warn_if_far
from tsnl.methods.sequential.state import Form, RoundState
from tsnl.methods.sequential.units import choose_transforms, fit_units
from tsnl.problem import Problem


def decide_form(
    key: Key[Array, ""],
    problem: Problem,
    options: Sequential,
    simulated: Simulated,
    chosen: Bool[np.ndarray, " capacity"],
    state: RoundState,
) -> Form:
    """Lag and transforms: in the first round, and transforms again in the second, nearer the data."""
    if state.form is None:
        spec, lag = fit_lag(key, problem, options, simulated)
        if not spec.whole and not is_stationary(
            fit_units(spec, simulated, ("asinh",) * spec.d_y), simulated.there.series
        ):
            spec = replace(spec, profile=(problem.length, 2 * spec.d_y))
    else:
        spec, lag = state.form.spec, state.form.lag
    if state.form is not None and len(state.history) > 1:
        return state.form
    if options.transform != "auto":
        given = (options.transform,) * spec.d_y
        return Form(spec, lag, given, ("as the option says",) * spec.d_y)
    return Form(spec, lag, *choose_transforms(key, problem, options, spec, simulated, chosen))


def fit_lag(
    key: Key[Array, ""], problem: Problem, options: Sequential, simulated: Simulated
) -> tuple[KernelSpec, LagChoice]:
    """The lag by its rule, from the first round's simulations, and the kernel that has it."""
    series = simulated.there.series
    rule = options.lag_rule
    first = options.spec(problem, rule if isinstance(rule, int) else 1)
    none = ("none" if options.transform == "auto" else options.transform,) * first.d_y
    scaling = fit_units(first, simulated, none)
    warn_if_far(np.concatenate(problem.panel), series)
    if isinstance(rule, int):
        return first, LagChoice(rule, "as the option says", {})
    if rule == "acf":
        lag = by_acf(max(problem.panel, key=len), series)
        return options.spec(problem, lag.lag), lag
    there = np.isfinite(simulated.series[:, 0, 0])
    patterns = [np.isfinite(one) for one in problem.panel]

    def evaluate(lag: int) -> tuple[float, int]:
        spec, rng = options.spec(problem, lag), np.random.default_rng(0)  # the same series held out
        given = (simulated.all, there, patterns, options.training)
        _, fit = learn(key, rng, spec, scaling, *given)
        if rule == "validation":
            return fit.held_out_loss, 0
        return fit.held_out_loss, num_weights(fresh_head(key, spec), spec.d_y, spec.groups(), spec.size)

    num_rows = int(np.isfinite(first.rows(series)).all(axis=2).sum())
    lag = by_score(rule, problem.length, evaluate, num_rows)
    return options.spec(problem, lag.lag), lag
