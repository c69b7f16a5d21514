import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsnl.kernel.memory import Decays, along, decays

RATES = (0.5, 0.9)


@eqx.filter_jit
def far_past(y, seen):
    memory = Decays(RATES).make(jax.random.key(0), 2, 0)
    return along(memory, jnp.asarray(y), jnp.asarray(seen), jnp.zeros((len(y), 0)))


def series(rng, *shape, share_missing=0.0):
    y = rng.normal(size=shape).astype(np.float32)
    return y, rng.uniform(size=shape) >= share_missing


def naive_far(y, seen, rates):
    """The formula, one row at a time: weighted averages with half a row of prior weight."""
    length, d_y = y.shape
    rows = []
    for t in range(length):
        level, size = np.zeros((len(rates), d_y)), np.zeros((len(rates), d_y))
        for i, rate in enumerate(rates):
            for j in range(d_y):
                weight = np.array([rate ** (t - 1 - s) for s in range(t)]) * seen[:t, j]
                total = weight.sum() + 0.5
                level[i, j] = (weight * y[:t, j]).sum() / total
                mean = ((weight * abs(y[:t, j])).sum() + 0.5 * decays.TYPICAL_SIZE) / total
                typical = decays.TYPICAL_SIZE + decays.SMALLEST_SIZE
                size[i, j] = np.log((mean + decays.SMALLEST_SIZE) / typical)
        rows.append(np.concatenate([level, size]).ravel())
    return np.array(rows)


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_far_past_is_its_formula(share):
    y, seen = series(np.random.default_rng(1), 12, 2, share_missing=share)
    found = far_past(y, seen)
    assert found.shape == (12, 2 * len(RATES) * 2)
    np.testing.assert_allclose(found, naive_far(y, seen, RATES), atol=2e-6)
    np.testing.assert_allclose(found[0], 0, atol=1e-6)


@settings(max_examples=20)
@given(t=st.integers(0, 11), j=st.integers(0, 1), value=st.floats(-1e3, 1e3, width=32))
def test_far_past_knows_only_the_past(t, j, value):
    y, seen = series(np.random.default_rng(2), 12, 2, share_missing=0.3)
    changed, also = y.copy(), seen.copy()
    changed[t, j], also[t, j] = value, ~seen[t, j]
    before, after = far_past(y, seen), far_past(changed, also)
    np.testing.assert_array_equal(before[: t + 1], after[: t + 1])
    assert t == 11 or not np.array_equal(before[t + 1], after[t + 1])


@pytest.mark.usefixtures("unchecked")
def test_rates_may_come_as_a_list():
    assert Decays([0.5, 0.9]) == Decays((0.5, 0.9))


@pytest.mark.parametrize("rates", [(1.0,), (0.5, 0.0)])
def test_bad_rates(rates):
    with pytest.raises(ValueError, match=r"decays are \(.*\), expected rates between 0 and 1"):
        Decays(rates)
