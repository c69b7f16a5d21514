import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest

import tsnl
from tsnl.problem import Problem
from tsnl.problem.columns import given_names, shown_names


@pytest.mark.parametrize(
    ("values", "count", "names"),
    [
        (pd.DataFrame({"prey": [1.0], "predator": [2.0]}), 2, ("prey", "predator")),
        ([pd.DataFrame({"prey": [1.0]})], 1, ("prey",)),
        (pd.Series([1.0], name="level"), 1, ("level",)),
        (pd.Series([1.0]), 1, ()),
        (pd.DataFrame(np.ones((3, 2))), 2, ()),
        (pd.DataFrame(np.ones((3, 2)), columns=["a", "a"]), 2, ()),
        (np.ones((3, 2)), 2, ()),
        ([], 1, ()),
    ],
)
def test_names_that_data_bring_along(values, count, names):
    assert given_names(values, count) == names


def test_names_that_are_shown():
    assert shown_names((), 1) == ("y",)
    assert shown_names((), 2) == ("y[0]", "y[1]")
    assert shown_names(("a",), 1) == ("a",)


def test_a_constant_column_is_named():
    table = pd.DataFrame({"level": [2.0, 2.0, 2.0]})
    model, prior = tsnl.models.LinearGaussian(), tsnl.Prior(Q=dist.HalfNormal(1.0))
    with pytest.raises(ValueError, match="Column level of the series is constant at 2"):
        Problem.of(model, prior, table)
