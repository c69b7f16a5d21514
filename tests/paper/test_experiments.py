"""Experiments run, resume and draw; the whole quick set is a slow test."""

import numpy as np
import pytest

from paper import EXPERIMENTS, reproduce, table, write_report
from paper.claims import CLAIMS
from paper.costs import make_method
from paper.problems import PROBLEMS


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("quick", [False, True])
def test_trials_are_distinct_known_and_grow_with_their_number(name, quick):
    experiment = EXPERIMENTS[name]
    trials = experiment.trials(None, quick)
    ids = [trial.id for trial in trials]
    assert len(set(ids)) == len(ids) > 0
    assert {trial.problem for trial in trials} <= set(PROBLEMS)
    assert {trial.id for trial in experiment.trials(1, quick)} <= set(ids)
    assert {trial.quick for trial in trials} == {quick}


@pytest.mark.parametrize("name", ["lgssm", "svssm", "lvssm"])
def test_cost_curves_have_what_the_issue_asks_for(name):
    trials = [t for t in EXPERIMENTS[name].trials(None, False) if t.budget]
    for problem in {t.problem for t in trials} - {"volatility-5"}:
        for method in ("T-SNL", "SNL", "SMC-ABC", "PMMH"):
            here = [t for t in trials if (t.problem, t.method) == (problem, method)]
            budgets = {t.budget for t in here}
            assert len(budgets) >= 5
            assert max(budgets) >= 1000 * min(budgets)
            assert len({t.seed for t in here}) >= 10


@pytest.mark.parametrize("name", ["T-SNL", "SNL", "SMC-ABC", "PMMH"])
def test_methods_keep_to_their_budget(name):
    method = make_method(name, 100_000, "predator-prey")
    assert method.max_cost == 100_000
    if name in ("T-SNL", "SNL"):
        assert method.rounds * method.simulations * PROBLEMS["predator-prey"].length == 100_000


def test_acf_from_the_first_trial_to_the_report(tmp_path):
    out, docs = tmp_path / "out", tmp_path / "docs"
    (path,) = reproduce("acf", trials=2, out=out, workers=1)
    rows = table.finished(table.read(path))
    assert len(rows) == 6
    assert np.all(table.numbers(rows, "norm_0") == 1.0)
    assert path.with_suffix(".svg").stat().st_size > 5000
    before = path.read_bytes()
    reproduce("acf", trials=2, out=out, workers=1)
    assert path.read_bytes() == before

    page = write_report(out, docs).read_text()
    assert page.count("\n- **") == len(CLAIMS)  # each a sentence
    assert "incomplete: 6 of 150 trials" in page
    assert page.count("not measured yet") == len(CLAIMS) - 1
    assert (docs / "results" / "acf.svg").exists()
    assert (docs / "results" / "acf.csv").read_bytes() == before


@pytest.mark.slow
def test_single_in_its_quick_form(tmp_path):
    (path,) = reproduce("single", quick=True, out=tmp_path, workers=1)
    assert path == tmp_path / "quick" / "single.csv"
    (row,) = table.finished(table.read(path))
    assert float(row["cost"]) == 200
    assert 0 <= float(row["distance"]) < 1
    assert row["version"]


def test_unknown_names_and_numbers_are_refused(tmp_path):
    with pytest.raises(ValueError, match="choose one of"):
        reproduce("lgsm", out=tmp_path)
    with pytest.raises(ValueError, match="at least 1"):
        reproduce("acf", trials=0, out=tmp_path)


@pytest.mark.slow
def test_the_whole_quick_set(tmp_path):
    tables = reproduce("all", quick=True, out=tmp_path, workers=1)
    assert len(tables) == len(EXPERIMENTS)
    for path in tables:
        rows = table.read(path)
        assert rows
        assert {row["status"] for row in rows} == {"ok"}, [row["reason"] for row in rows]
        assert path.with_suffix(".svg").exists()
    page = write_report(tmp_path / "quick", tmp_path / "docs").read_text()
    assert "not measured yet" not in page
