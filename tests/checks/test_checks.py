import json
from dataclasses import replace

import numpy as np
import pytest

import tsnl
from tsnl.checks import one_step_of

NAMES = ["one step ahead", "windows", "lag", "budget", "replicates", "sampler"]


@pytest.fixture(scope="module")
def report(result):
    return result.check(summaries={"range": np.ptp})


def test_all_checks_run(result, report):
    assert [v.name for v in report] == NAMES
    assert report.cost == 199 * 20
    assert "range" in report["replicates"].figures["p_values"]
    assert json.loads(report.to_json())["cost"] == report.cost
    for verdict in report:
        assert verdict.sentence.endswith(".")
        assert bool(verdict.remedy) == (verdict.verdict != "pass")


def test_a_saved_run_says_the_same(result, report, tmp_path):
    result.save(tmp_path)
    again = tsnl.load(tmp_path)
    np.testing.assert_array_equal(again.arrays["simulated.series"], result.arrays["simulated.series"])
    assert result.arrays["simulated.series"].dtype == np.float32
    found = again.check(summaries={"range": np.ptp}, refit=False)
    assert [v.verdict for v in found] == [v.verdict for v in report if v.name != "lag"]


def test_checks_can_be_left_out(result):
    found = result.check(num_replicates=0, refit=False)
    worst = result.summary()["r_hat"].max()
    assert found["sampler"].figures["r_hat"] == pytest.approx(worst, abs=1e-4)  # the table rounds
    assert [v.name for v in found] == ["one step ahead", "windows", "budget", "sampler"]
    assert found.cost == 0
    with pytest.raises(ValueError, match="num_replicates is 50: fewer than 99"):
        result.check(num_replicates=50)


def test_without_a_kernel_only_the_others(result):
    bare = replace(result, posterior=None, lag=None, arrays={})
    assert [v.name for v in bare.check()] == ["replicates", "sampler"]
    with pytest.raises(ValueError, match="no kernel for single rows"):
        one_step_of(bare)


def test_a_run_without_its_simulations(result):
    found = replace(result, arrays={}).check(num_replicates=0)
    assert [v.name for v in found] == ["one step ahead", "budget", "sampler"]
