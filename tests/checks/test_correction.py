"""The exact likelihood as a check of a learned posterior."""

from dataclasses import replace

import pytest

from tsnl.checks.correction import correctable, offered
from tsnl.checks.verdict import Verdict


def test_it_says_how_far_off(result):
    report = result.check(num_replicates=0, refit=False, correct=200)
    found = report["correction"]
    assert found.sentence.startswith("Corrected by the exact likelihood, the means moved by ")
    assert "k-hat" in found.sentence
    assert {"mean_shift", "k_hat", "ess"} <= set(found.figures)
    assert found.figures["draws"] >= 200
    assert report.cost == 0  # the model is linear
    assert bool(found.remedy) == (found.verdict != "pass")
    with pytest.raises(ValueError, match="correct is 7, expected 0, or at least 50"):
        result.check(num_replicates=0, refit=False, correct=7)


def test_a_corrected_result_is_checked_for_what_it_is(result):
    corrected = result.correct(seed=0, progress=False)
    report = corrected.check(num_replicates=0)
    assert [v.name for v in report] == ["one step ahead", "correction"]
    assert report["correction"].verdict == "pass"
    assert "The draws are corrected by the exact likelihood" in report["correction"].sentence
    bad = [*corrected.history[:-1], {**corrected.history[-1], "reliable": False}]
    report = replace(corrected, history=bad).check(num_replicates=0)
    assert report["correction"].verdict == "look"
    assert report["correction"].remedy


def test_it_is_offered_where_the_model_allows(result):
    assert correctable(result)
    assert not correctable(replace(result, posterior=None))
    budget = Verdict("budget", "look", "Too few.", "Run one more round.", {})
    fine = Verdict("lag", "pass", "Fine.", "", {})
    other = Verdict("sampler", "fail", "No.", "Draw more.", {})
    found = offered([budget, fine, other])
    assert found[0].remedy.endswith("as the model has densities: result.correct(seed=0).")
    assert found[1:] == [fine, other]
