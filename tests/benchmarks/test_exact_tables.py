"""Figures of the correction's benchmark, from rows that are known."""

import pytest

from benchmarks import exact_tables
from benchmarks.exact_tables import BEGIN, END, against_pmmh, equal_distance, page


def test_the_cost_at_equal_distance_is_read_off_a_line():
    times, distances = (1, 4, 16), (0.4, 0.2, 0.1)  # the distance falls as one over the root of the cost
    assert equal_distance(times, distances, 0.2 / 2**0.5) == (pytest.approx(8.0), "")
    assert equal_distance(times, distances, 0.05) == (16, ">")
    assert equal_distance(times, distances, 0.5) == (1, "<")
    factor, bound = equal_distance(times, (0.4, 0.2, 0.25), 0.22)  # the largest was out of luck
    assert factor < 4
    assert bound == ""


def test_only_series_with_all_budgets_count():
    rows = [{"seed": seed, "after": 0.2} for seed in "012"]
    rivals = [
        {"seed": seed, "times": times, "distance": 0.4 / times**0.5}
        for seed, times in (("0", 1), ("0", 16), ("1", 1), ("1", 16), ("2", 1))
    ]
    factor, bound, used = against_pmmh(rows, rivals)
    assert (factor, bound, used) == (pytest.approx(4.0), "", 2)
    assert against_pmmh(rows, [])[2] == 0


def test_what_is_measured_stands_between_the_marks():
    text = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert page(text, ["new"]) == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    assert page(page(text, ["new"]), ["new"]) == page(text, ["new"])


def test_the_document_is_of_the_files():
    lines = exact_tables.all_lines()
    text = exact_tables.PAGE.read_text()
    assert page(text, lines) == text
