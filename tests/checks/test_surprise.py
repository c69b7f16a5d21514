import numpy as np
import pytest
from scipy.special import ndtr

from tsnl.checks import surprise
from tsnl.checks.one_step import OneStep
from tsnl.checks.surprise import check_surprise, dependence_p_value, surprising
from tsnl.checks.uniformity import pit_ecdf


def of(pit):
    pit = pit.reshape(len(pit), -1)
    tail = 2 * np.minimum(pit, 1 - pit)
    return OneStep(np.arange(len(pit)) + 1, pit, tail, np.log(tail).sum(axis=1))


def verdicts(make, n=30):
    return [
        check_surprise(of(make(np.random.default_rng(i))), 2, np.random.default_rng(i)) for i in range(n)
    ]


def uniform(rng):
    return rng.uniform(size=(80, 2))


def test_quiet_where_all_is_right():
    found = [v.verdict for v in verdicts(uniform)]
    assert found.count("fail") <= 2  # 1 of 100 expected
    assert found.count("pass") >= 25


def test_dependence_is_found_and_its_size_is_right():
    rng = np.random.default_rng(0)
    p_values = [dependence_p_value(rng.uniform(size=60), rng) for _ in range(100)]
    assert np.mean(np.array(p_values) < 0.05) <= 0.12
    noise = rng.normal(size=101)
    moving = (noise[1:] + 0.9 * noise[:-1]) / np.sqrt(1.81)
    assert dependence_p_value(ndtr(moving), rng) < 0.01
    assert dependence_p_value(rng.uniform(size=3), rng) == 1.0


def test_a_long_series_is_shuffled_in_parts(monkeypatch):
    """With the same p-value, to the bit."""
    pit = np.random.default_rng(3).uniform(size=60)
    whole = dependence_p_value(pit, np.random.default_rng(0))
    monkeypatch.setattr(surprise, "MOST_VALUES", 1000)
    assert dependence_p_value(pit, np.random.default_rng(0)) == whole


def test_volatility_that_the_kernel_forgot_is_found():
    rng = np.random.default_rng(1)
    size = np.repeat([0.3, 2.0, 0.3, 2.0], 40)
    assert dependence_p_value(ndtr(size * rng.normal(size=160)), rng) < 0.01


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x: ndtr(2 * x), "predictive spread is wrong"),
        (lambda x: ndtr(np.convolve(x, np.ones(4) / 2, "same")), "autocorrelated"),
        (lambda x: np.where(np.arange(100) == 49, 1e-9, ndtr(x)), "t = 50"),
    ],
    ids=["wide", "dependent", "outlier"],
)
def test_what_is_wrong_is_said(change, words):
    rng = np.random.default_rng(3)
    verdict = check_surprise(of(change(rng.normal(size=100))), 4, rng)
    assert verdict.verdict == "fail"
    assert words in verdict.sentence
    assert verdict.remedy


def test_surprising_rows_are_counted_from_one():
    pit = np.full((50, 1), 0.4)
    pit[[7, 20]] = [[1e-9], [1 - 1e-6]]
    assert surprising(of(pit)) == [8, 21]


def test_ecdf_of_edge_values():
    test = pit_ecdf(np.array([0.0, 0.5, 1.0]))
    assert test.share[0] == pytest.approx(1 / 3)
    assert test.share[-1] == pytest.approx(2 / 3)
