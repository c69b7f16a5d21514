"""Can a result be trusted? Checks on the one observed series."""

from tsnl.diagnostics.checks import check, one_step_of
from tsnl.diagnostics.one_step import OneStep, predictive_draws
from tsnl.diagnostics.surprise import pit_ecdf, surprising
from tsnl.diagnostics.verdict import Report, Verdict

__all__ = [
    "OneStep",
    "Report",
    "Verdict",
    "check",
    "one_step_of",
    "pit_ecdf",
    "predictive_draws",
    "surprising",
]
