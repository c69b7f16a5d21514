import jax
import numpy as np
import pytest

from tsnl.checks.replicates import replicate
from tsnl.checks.windows import check_windows
from tsnl.kernel.examples import Simulated
from tsnl.problem.draws import thinned


def ask(result, change=lambda y: y, count=40):
    z = thinned(result.unconstrained(), count)
    series = replicate(jax.random.key(0), result.problem, z)
    simulated = Simulated(series, np.zeros((*series.shape[:2], 0)), z)
    observed = change(result.problem.series.copy())
    return check_windows(result.posterior.kernel, observed, simulated, z, np.random.default_rng(0))


def outlier(y):
    y[14] += 20.0
    return y


def test_windows_of_the_model_pass(result):
    found = ask(result)
    assert found.verdict == "pass"
    assert found.figures["num_series"] == 20


@pytest.mark.parametrize("change", [outlier, lambda y: y + 20.0], ids=["one row", "all rows"])
def test_windows_from_elsewhere_do_not(result, change):
    found = ask(result, change)
    assert found.verdict == "fail"
    assert 15 in found.figures["far"]


def test_too_few_simulations_say_nothing(result):
    assert ask(result, count=5) is None
