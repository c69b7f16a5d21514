import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsnl.kernel.memory import Lags, along
from tsnl.kernel.memory.lags import ABSENT, INPUT, LAG


@eqx.filter_jit
def every_window(memory, y, seen, u):
    """Features before all rows, series by series."""
    return jax.vmap(lambda *now: along(memory, *now))(y, seen, u)


def windows(y, seen, lag, u=None):
    """Lags, marks and inputs before all rows."""
    (n, length, d_y), d_u = y.shape, 0 if u is None else u.shape[2]
    u = np.zeros((n, length, 0), np.float32) if u is None else u
    memory = Lags(lag).make(jax.random.key(0), d_y, d_u)
    found = np.asarray(every_window(memory, *(jnp.asarray(x) for x in (y, seen, u))))
    assert found.shape == (n, length, lag * (2 * d_y + d_u))
    lags, absent, inputs = np.split(found, [lag * d_y, 2 * lag * d_y], axis=2)
    return *(x.reshape(n, length, lag, d_y) for x in (lags, absent)), inputs.reshape(n, length, lag, d_u)


@settings(max_examples=12)
@given(
    n=st.integers(1, 3),
    length=st.integers(1, 6),
    d_y=st.integers(1, 2),
    d_u=st.integers(0, 2),
    lag=st.integers(0, 4),
    share=st.sampled_from([0.0, 0.3, 1.0]),
    seed=st.integers(0, 99),
)
def test_windows_are_the_loop(n, length, d_y, d_u, lag, share, seed):
    rng = np.random.default_rng(seed)
    y, u = (rng.normal(size=(n, length, d)).astype(np.float32) for d in (d_y, d_u))
    seen = rng.uniform(size=y.shape) >= share
    lags, absent, inputs = windows(y, seen, lag, u)
    for i, t, k in np.ndindex(n, length, lag):
        when = t - k - 1
        np.testing.assert_array_equal(inputs[i, t, k], u[i, when] if when >= 0 else 0)
        for j in range(d_y):
            there = when >= 0 and seen[i, when, j]
            assert absent[i, t, k, j] == 1 - there
            assert lags[i, t, k, j] == (y[i, when, j] if there else 0)


def test_before_the_start_is_absent_and_zero():
    y = np.arange(1.0, 6.0, dtype=np.float32).reshape(1, 5, 1)
    lags, absent, inputs = windows(y, np.ones((1, 5, 1), bool), 3)
    expected = [[0, 0, 0], [1, 0, 0], [2, 1, 0], [3, 2, 1], [4, 3, 2]]
    np.testing.assert_array_equal(lags[0, ..., 0], expected)
    np.testing.assert_array_equal(absent[0, ..., 0], np.equal(expected, 0))
    assert inputs.shape == (1, 5, 3, 0)


def test_weights_fade_with_the_lag():
    rows, marks, inputs = Lags(3, fading=0.5).make(jax.random.key(0), 2, 1).groups()
    fade = np.array([1, 1, 0.5, 0.5, 0.25, 0.25])
    for group, sds, sizes in ((rows, LAG, fade), (marks, ABSENT, fade), (inputs, INPUT, fade[::2])):
        np.testing.assert_allclose(group.mean_sd, sds[0] * sizes)
        np.testing.assert_allclose(group.scale_sd, sds[1] * sizes)
    assert [group.located for group in (rows, marks, inputs)] == [True, False, True]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lag": -1}, "lag is -1"),
        ({"fading": 0.0}, r"fading is 0.0, expected a number in \(0, 1\]"),
        ({"fading": 1.5}, "fading is 1.5"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        Lags(**options)
