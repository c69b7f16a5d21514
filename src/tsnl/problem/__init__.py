"""The question: a simulator, a prior over some of its parameters, and observed series."""

from tsnl.problem.prior import Prior
from tsnl.problem.problem import Problem
from tsnl.problem.series import Series, as_series

__all__ = ["Prior", "Problem", "Series", "as_series"]
