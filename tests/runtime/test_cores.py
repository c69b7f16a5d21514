"""Calls spread over the cores."""

import threading

import pytest

from tsnl.runtime.cores import on_all_cores, visible_cores


@pytest.mark.parametrize("asked", ["1", "3"])
def test_what_is_given_comes_back_in_order(asked, monkeypatch):
    monkeypatch.setenv("NPROC", asked)
    assert on_all_cores(lambda x: x**2, range(10)) == [x**2 for x in range(10)]


def test_calls_run_side_by_side(monkeypatch):
    monkeypatch.setenv("NPROC", "2")
    both = threading.Barrier(2, timeout=30)
    assert sorted(on_all_cores(lambda _: both.wait(), range(2))) == [0, 1]


def test_an_error_comes_through():
    with pytest.raises(ZeroDivisionError):
        on_all_cores(lambda x: 1 / x, [1, 0])


def test_what_the_environment_asks_for_counts(monkeypatch):
    monkeypatch.setenv("NPROC", "7")
    assert visible_cores() == 7
    monkeypatch.setenv("NPROC", "many")
    assert visible_cores() >= 1
