"""Can a result be trusted? Checks on the one observed series."""

from tsnl.checks.checks import check, one_step_of
from tsnl.checks.one_step import OneStep, predictive_draws
from tsnl.checks.surprise import surprising
from tsnl.checks.uniformity import pit_ecdf
from tsnl.checks.verdict import Report, Verdict

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
