"""A classifier whose answers have a known law where there is nothing to tell."""

import numpy as np
import pytest

from tsnl.evaluate.classifier import told_apart

FAST = {"width": 16, "num_steps": 20}


def test_right_answers_are_binomial_where_pairs_can_be_exchanged():
    """In mean and variance: cross-validated ones spread more than binomial ones do."""
    rng, scores = np.random.default_rng(0), []
    for seed in range(200):
        theta = 3 * rng.normal(size=(50, 1))  # what the two of a pair share
        p, q = (theta + rng.normal(size=(50, 2)) for _ in range(2))
        right, asked = told_apart(p, q, seed=seed, **FAST)
        assert 30 <= asked <= 40  # the first of five blocks is learned from only
        scores.append((right - asked / 2) / (asked / 4) ** 0.5)
    assert abs(np.mean(scores)) < 4.5 / 200**0.5
    assert np.var(scores) == pytest.approx(1, abs=4.5 * (2 / 200) ** 0.5)


def test_what_differs_is_told():
    p = np.random.default_rng(1).normal(size=(50, 2))
    right, asked = told_apart(p, p + np.array([4.0, 0.0]), **FAST | {"num_steps": 200})
    assert right > 0.9 * asked
    assert told_apart(p, p, **FAST) == (0, 0)  # the same: nothing to answer
