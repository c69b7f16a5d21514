import jax
import numpy as np
import pytest

from tsnl.checks.truncation import _level, _p_value, check_lag
from tsnl.methods.sequential.simulated import Simulated, choose
from tsnl.problem.draws import thinned


def test_figures_of_a_longer_lag(result):
    simulated = Simulated.of_arrays(result.arrays, result.problem)
    z = thinned(result.unconstrained(), 100)
    chosen = choose("all", simulated, result.problem, 8)
    given = (simulated.there, chosen, result.method.training)
    found = check_lag(jax.random.key(0), result.posterior.likelihood, result.problem, *given, z)
    assert (found.figures["lag"], found.figures["longer_lag"]) == (result.lag[0], 2 * result.lag[0])
    assert found.figures["shift"] >= 0
    assert found.figures["num_series"] == 4  # two of sixteen for each of two members


@pytest.mark.parametrize(
    ("figures", "level"),
    [
        ((2.0, 0.1, 1.0, 0.5), "pass"),  # no gain: the posterior moved by the noise of learning
        ((1.5, 2.0, 0.1, 1e-4), "pass"),  # learning anew moves it further
        ((0.1, 0.05, 0.5, 1e-4), "pass"),  # a gain without consequence
        ((0.1, 0.05, 3.5, 1e-4), "look"),
        ((0.7, 0.1, 0.5, 1e-4), "look"),
        ((0.7, 0.1, 5.0, 1e-4), "fail"),
        ((1.5, 0.1, 0.5, 1e-4), "fail"),
        ((1.5, 0.1, 0.5, 0.03), "look"),
    ],
)
def test_levels(figures, level):
    assert _level(*figures) == level


def test_p_value_of_gains():
    rng = np.random.default_rng(0)
    assert _p_value(rng.normal(size=50) + 1.0) < 1e-3
    assert _p_value(rng.normal(size=50) - 1.0) > 0.99
    assert _p_value(np.array([0.3])) == pytest.approx(0.5)
