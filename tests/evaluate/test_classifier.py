"""A classifier whose answers have a known law where there is nothing to tell."""

import numpy as np
import pytest
from scipy.stats import binom

from tsnl.evaluate.classifier import told_apart

FAST = {"width": 4, "num_steps": 20}


def test_right_answers_are_binomial_where_pairs_can_be_exchanged():
    """Not only their mean: cross-validated ones spread more than binomial ones do."""
    rng, found = np.random.default_rng(0), []
    for seed in range(300):
        theta = 3 * rng.normal(size=(50, 1))  # what the two of a pair share
        p, q = (theta + rng.normal(size=(50, 2)) for _ in range(2))
        right, asked = told_apart(p, q, seed=seed, **FAST)
        assert asked == 40
        found.append(right)
    found = np.array(found)
    assert abs(found.mean() - 20) < 4.5 * (10 / 300) ** 0.5
    assert found.var() == pytest.approx(10, rel=4.5 * (2 / 300) ** 0.5)
    for level in (10, 15, 25, 30):
        share = binom.sf(level, 40, 0.5)
        assert abs((found > level).mean() - share) < 4.5 * (share * (1 - share) / 300) ** 0.5 + 1e-9


def test_what_differs_is_told():
    rng = np.random.default_rng(1)
    p = rng.normal(size=(50, 2))
    assert told_apart(p, p + np.array([4.0, 0.0]), num_steps=100, width=4)[0] > 30
    assert told_apart(p, p, **FAST) == (0, 0)  # the same: nothing to answer
    with pytest.raises(ValueError, match="give pairs"):
        told_apart(p, p[1:], **FAST)
