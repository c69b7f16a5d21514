import json

import jax
import numpy as np
import pytest

from tsnl.checks.replicates import (
    SUMMARIES,
    adjusted_p_values,
    autocorrelation,
    check_replicates,
    replicate,
    summarise,
)


def test_p_values_are_right_together():
    """The smallest of seven is below 5 % in about 5 % of the cases."""
    rng = np.random.default_rng(0)
    least = []
    for _ in range(300):
        x = rng.gamma(2.0, size=(100, 7)) + rng.normal(size=(100, 1))
        least.append(adjusted_p_values(x[0], x[1:]).min())
    assert 0.02 <= np.mean(np.array(least) <= 0.05) <= 0.09
    assert min(least) >= 0.01


def test_an_odd_summary_is_found_among_many():
    rng = np.random.default_rng(1)
    others = rng.normal(size=(199, 7))
    observed = np.zeros(7)
    observed[3] = -6.0
    p_values = adjusted_p_values(observed, others)
    assert p_values[3] == 1 / 200
    assert (np.delete(p_values, 3) > 0.5).all()


def test_a_summary_that_never_changes_is_no_news():
    others = np.random.default_rng(2).normal(size=(99, 2))
    others[:, 1] = 3.0
    assert adjusted_p_values(np.array([0.0, 3.0]), others)[1] == 1.0


def test_autocorrelation():
    assert autocorrelation(np.array([1.0, -1.0] * 50), 1) == pytest.approx(-0.99)
    assert autocorrelation(np.ones(5), 1) == 0.0


def test_columns_have_names():
    found = summarise(np.ones((3, 10, 2)), {"mean": np.mean}, ["prey", "predator"])
    assert list(found) == ["mean of prey", "mean of predator"]
    assert list(summarise(np.ones((3, 10, 1)), {"mean": np.mean})) == ["mean"]


def test_verdicts():
    rng = np.random.default_rng(3)
    series = rng.normal(size=(200, 40, 1))
    good = check_replicates(series[0], series[1:], SUMMARIES)
    assert good.verdict == "pass"
    assert good.figures["cost"] == 199 * 40
    bad = check_replicates(series[0] + 3.0, series[1:], SUMMARIES)
    assert bad.verdict == "fail"
    assert "mean" in bad.sentence
    json.dumps(bad.figures)


def test_failed_series_are_left_out_and_too_many_are_a_verdict():
    rng = np.random.default_rng(4)
    series = rng.normal(size=(100, 20, 1))
    series[50:, 10:] = np.nan
    assert check_replicates(rng.normal(size=(20, 1)), series, SUMMARIES).figures["failed"] == 50
    series[10:, 10:] = np.nan
    assert check_replicates(rng.normal(size=(20, 1)), series, SUMMARIES).verdict == "fail"


def test_replicates_follow_their_parameters(result):
    z = np.array([[-3.0]] * 30 + [[3.0]] * 30)
    found = replicate(jax.random.key(0), result.problem, z)
    assert found.shape == (60, *result.problem.series.shape)
    assert found[:30].std() < 0.3 * found[30:].std()
