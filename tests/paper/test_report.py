"""The page, the table and the figure that are made from tables alone."""

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from paper import write_report
from paper.claims import CLAIMS
from paper.compare import MissingTrialsError, means
from paper.entry import save
from paper.headline import METHODS, SHOWN, headline_figure, headline_table
from paper.reasons import REASONS
from paper.report import read_tables, results_page
from paper.sections import cost_table
from paper.table import finished, where

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"


def made_up(distances, kind="total variation"):
    """Tables of the cost experiments, with the same distances everywhere."""
    return {
        name: [
            {"problem": problem, "method": method, "budget": str(budget), "seed": str(seed),
             "cost": str(budget), "distance": str(x), "distance_kind": kind}
            for method, budget in [*((m, 100_000) for m in METHODS), ("exact draws", 0)]
            for seed, x in enumerate(distances)
        ]
        for name, problem in SHOWN.items()
    }  # fmt: skip


def test_report_without_tables(tmp_path):
    page = write_report(tmp_path, tmp_path / "docs").read_text()
    assert page.count("not measured yet") == len(CLAIMS)
    assert "## At 100,000" not in page


def test_headline_table_has_means_and_standard_errors():
    lines = headline_table(made_up([0.1, 0.2, 0.3])).splitlines()
    assert len(lines) == 2 + len(SHOWN)
    error = np.std([0.1, 0.2, 0.3], ddof=1) / 3**0.5
    assert lines[2] == "| linear, total variation |" + f" 0.200 ± {error:.3f} |" * len(METHODS)


def test_headline_table_says_what_failed():
    tables = made_up([0.1, 0.3])
    tables["lvssm"] = [r for r in tables["lvssm"] if (r["method"], r["seed"]) != ("PMMH", "1")]
    assert headline_table(tables).splitlines()[-1].endswith("| 0.100 ± 0.000 (1 of 2 failed) |")


def test_headline_table_of_missing_trials():
    tables = made_up([0.1])
    tables["svssm"] = [row for row in tables["svssm"] if row["method"] != "PMMH"]
    with pytest.raises(MissingTrialsError, match="svssm"):
        headline_table(tables)


def test_cost_table_has_methods_down_and_costs_across():
    rows = [
        {"method": method, "budget": str(budget), "distance": str(distance)}
        for method, budget, distance in [
            ("T-SNL", 1000, 0.1), ("T-SNL", 1000, 0.3), ("SNL", 1000, 0.5), ("PMMH", 10**6, 0.04)
        ]
    ]  # fmt: skip
    assert cost_table(rows).splitlines() == [
        "| | 1k | 1M |",
        "|---|---:|---:|",
        "| T-SNL | **0.20** |  |",
        "| SNL | 0.50 |  |",
        "| SMC-ABC |  |  |",
        "| PMMH |  | 0.040 |",
    ]


def test_the_front_page_says_no_more_than_the_tables():
    """Closer at 10,000 calls than SNL and SMC-ABC at a hundred times as many, on all three models."""
    assert "a hundred times" in (ROOT / "docs" / "index.md").read_text()
    for name, problem in SHOWN.items():
        rows = where(finished(read_tables(RESULTS)[name]), problem=problem)
        ours = means(rows, "T-SNL", "distance")[10_000]
        assert all(ours < means(rows, m, "distance")[1_000_000] for m in ("SNL", "SMC-ABC"))


def test_the_same_figure_gives_the_same_file(tmp_path):
    tables = made_up([0.1, 0.2])
    first, second = (save(headline_figure(tables), tmp_path / f"{i}.svg") for i in range(2))
    assert first.read_bytes() == second.read_bytes()


def test_the_committed_page_and_readme_are_of_the_committed_tables():
    assert (ROOT / "docs" / "results.md").read_text() == results_page(RESULTS)
    tables = {name: finished(rows) for name, rows in read_tables(RESULTS).items()}
    assert headline_table(tables) in (ROOT / "README.md").read_text()


def test_every_difference_from_the_paper_has_a_reason():
    tables = {name: finished(rows) for name, rows in read_tables(RESULTS).items()}
    differs = set()
    for claim in CLAIMS:
        with suppress(MissingTrialsError):
            if claim.measure(tables)[1] is False:
                differs.add(claim.key)
    assert differs == set(REASONS)
