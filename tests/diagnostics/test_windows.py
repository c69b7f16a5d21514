import numpy as np
import pytest

from tsnl.diagnostics.draws import thinned, unconstrained
from tsnl.diagnostics.windows import check_windows
from tsnl.methods.simulated import Simulated


def ask(result, change=lambda y: y, simulated=None):
    simulated = Simulated.of_arrays(result.arrays) if simulated is None else simulated
    z = thinned(unconstrained(result), 200)
    series = change(result.problem.series.copy())
    return check_windows(result.posterior.kernel, series, simulated, z, np.random.default_rng(0))


def outlier(y):
    y[14] += 40.0
    return y


def test_windows_of_the_model_pass(result):
    found = ask(result)
    assert found.verdict == "pass"
    assert found.figures["num_series"] == 8


@pytest.mark.parametrize("change", [outlier, lambda y: y + 20.0], ids=["one row", "all rows"])
def test_windows_from_elsewhere_do_not(result, change):
    found = ask(result, change)
    assert found.verdict == "fail"
    assert 15 in found.figures["far"]


def test_too_few_simulations_say_nothing(result):
    kept = Simulated.of_arrays({name: value[:5] for name, value in result.arrays.items()})
    assert ask(result, simulated=kept) is None
