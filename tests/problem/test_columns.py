import numpyro.distributions as dist
import pandas as pd
import pytest

import tsnl
from tsnl.problem import Problem
from tsnl.problem.columns import shown_names


def test_names_that_are_shown():
    assert shown_names((), 1) == ("y",)
    assert shown_names((), 2) == ("y[0]", "y[1]")
    assert shown_names(("a",), 1) == ("a",)


def test_a_constant_column_is_named():
    table = pd.DataFrame({"level": [2.0, 2.0, 2.0]})
    model, prior = tsnl.models.LinearGaussian(), tsnl.Prior(Q=dist.HalfNormal(1.0))
    with pytest.raises(ValueError, match="Column level of the series is constant at 2"):
        Problem.of(model, prior, table)
