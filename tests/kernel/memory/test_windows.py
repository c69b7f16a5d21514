import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsnl.kernel.memory import Past, Recent, Windows, far_past, split
from tsnl.kernel.memory import past as windows

DECAYS = (0.5, 0.9)
far_past = eqx.filter_jit(far_past)


@eqx.filter_jit
def every_window(y, seen, past):
    """Targets and contexts of all windows, series by series."""
    made = Windows.of(jnp.asarray(y), jnp.asarray(seen), past)
    n, length, _ = y.shape
    index = jnp.arange(n * length)
    return made.take(index // length, index % length)


def series(rng, *shape, share_missing=0.0):
    y = rng.normal(size=shape).astype(np.float32)
    return y, rng.uniform(size=shape) >= share_missing


def map_numpy(tree):
    return jax.tree.map(np.asarray, tree)


def naive_far(y, seen, decays):
    """The formula, one row at a time: weighted averages with half a row of prior weight."""
    length, d_y = y.shape
    rows = []
    for t in range(length):
        level, size = np.zeros((len(decays), d_y)), np.zeros((len(decays), d_y))
        for i, rate in enumerate(decays):
            for j in range(d_y):
                weight = np.array([rate ** (t - 1 - s) for s in range(t)]) * seen[:t, j]
                total = weight.sum() + 0.5
                level[i, j] = (weight * y[:t, j]).sum() / total
                mean = ((weight * abs(y[:t, j])).sum() + 0.5 * windows.TYPICAL_SIZE) / total
                typical = windows.TYPICAL_SIZE + windows.SMALLEST_SIZE
                size[i, j] = np.log((mean + windows.SMALLEST_SIZE) / typical)
        rows.append(np.concatenate([level, size]).ravel())
    return np.array(rows)


@settings(max_examples=12)
@given(
    n=st.integers(1, 3),
    length=st.integers(1, 6),
    d_y=st.integers(1, 2),
    lag=st.integers(0, 4),
    share=st.sampled_from([0.0, 0.3, 1.0]),
    seed=st.integers(0, 99),
)
def test_take_is_the_loop(n, length, d_y, lag, share, seed):
    y, seen = series(np.random.default_rng(seed), n, length, d_y, share_missing=share)
    target, context = map_numpy(every_window(y, seen, Past(lag, DECAYS)))
    i, t = np.divmod(np.arange(n * length), length)
    for row, (a, b) in enumerate(zip(i, t, strict=True)):
        np.testing.assert_array_equal(target[row], y[a, b])  # a gap in contexts may still be a target
        for k in range(lag):
            for j in range(d_y):
                there = b - k - 1 >= 0 and seen[a, b - k - 1, j]
                assert context.absent[row, k, j] == 1 - there
                assert context.lags[row, k, j] == (y[a, b - k - 1, j] if there else 0)


def test_before_the_start_is_absent_and_zero():
    y = jnp.arange(1.0, 6.0).reshape(1, 5, 1)
    _, context = every_window(y, np.ones((1, 5, 1), bool), Past(3, ()))
    expected = [[0, 0, 0], [1, 0, 0], [2, 1, 0], [3, 2, 1], [4, 3, 2]]
    np.testing.assert_array_equal(context.lags[..., 0], expected)
    np.testing.assert_array_equal(context.absent[..., 0], np.equal(expected, 0))
    assert context.far.shape == (5, 0)


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_far_past_is_its_formula(share):
    y, seen = series(np.random.default_rng(1), 12, 2, share_missing=share)
    found = far_past(jnp.asarray(y), jnp.asarray(seen), DECAYS)
    assert found.shape == (12, Past(1, DECAYS).num_far(2))
    np.testing.assert_allclose(found, naive_far(y, seen, DECAYS), atol=2e-6)
    np.testing.assert_allclose(found[0], 0, atol=1e-6)


@settings(max_examples=20)
@given(t=st.integers(0, 11), j=st.integers(0, 1), value=st.floats(-1e3, 1e3, width=32))
def test_far_past_knows_only_the_past(t, j, value):
    y, seen = series(np.random.default_rng(2), 12, 2, share_missing=0.3)
    changed, also = y.copy(), seen.copy()
    changed[t, j], also[t, j] = value, ~seen[t, j]
    before = far_past(jnp.asarray(y), jnp.asarray(seen), DECAYS)
    after = far_past(jnp.asarray(changed), jnp.asarray(also), DECAYS)
    np.testing.assert_array_equal(before[: t + 1], after[: t + 1])
    assert t == 11 or not np.array_equal(before[t + 1], after[t + 1])


def test_a_prefix_has_the_same_windows():
    y, seen = series(np.random.default_rng(3), 2, 9, 2, share_missing=0.3)
    (a, b), (c, d) = (every_window(y[:, :k], seen[:, :k], Past(3, DECAYS)) for k in (9, 5))
    a, b = jax.tree.map(lambda x: x.reshape(2, 9, *x.shape[1:])[:, :5].reshape(10, *x.shape[1:]), (a, b))
    np.testing.assert_array_equal(a, c)
    np.testing.assert_array_equal(b.lags, d.lags)
    np.testing.assert_array_equal(b.absent, d.absent)
    np.testing.assert_allclose(b.far, d.far, atol=1e-6)


def test_values_that_were_not_seen_do_not_matter():
    y, seen = series(np.random.default_rng(4), 1, 8, 1, share_missing=0.5)
    first, second = (
        every_window(np.where(seen, y, fill), seen, Past(2, DECAYS))[1] for fill in (np.nan, 7.0)
    )
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("lag", "decays", "message"),
    [(-1, (), "lag is -1"), (1, (1.0,), r"decays are \(1.0,\)"), (1, (0.5, 0.0), "decays are")],
)
def test_bad_past(lag, decays, message):
    with pytest.raises(ValueError, match=message):
        Past(lag, decays)


@given(
    n=st.integers(2, 30),
    num_members=st.integers(1, 6),
    fraction=st.floats(0.01, 0.5),
    seed=st.integers(0, 99),
)
def test_whole_series_are_held_out(n, num_members, fraction, seed):
    rng = np.random.default_rng(seed)
    targets = rng.uniform(size=(n, 4)) < 0.7
    targets[:2, 0] = True  # at least two series are there
    train, held = split(rng, targets, num_members, fraction, lag=2)
    assert not (train & held).any()
    np.testing.assert_array_equal(train | held, np.repeat(targets[None], num_members, 0))
    assert not (held.any(2) & train.any(2)).any()
    live = int(targets.any(1).sum())
    count = held.any(2).sum(1)
    assert (count == max(1, round(fraction * live))).all()
    if num_members * count[0] <= live:  # there are enough for each to have its own
        assert held.any(2).sum(0).max() == 1


def test_together_the_members_learn_from_all():
    train, _ = split(np.random.default_rng(0), np.ones((10, 3), bool), 2, 0.3, lag=1)
    assert train.any(0).all()


@given(length=st.integers(10, 40), lag=st.integers(1, 3), fraction=st.floats(0.1, 0.4))
def test_a_single_series_loses_its_last_block_and_a_gap(length, lag, fraction):
    targets = np.zeros((3, length), bool)
    targets[1] = True
    train, held = split(np.random.default_rng(0), targets, 2, fraction, lag)
    first = int(length * (1 - fraction))
    for member in range(2):
        np.testing.assert_array_equal(held[member, 1], np.arange(length) >= first)
        np.testing.assert_array_equal(train[member, 1], np.arange(length) < first - lag)
    assert not train[:, [0, 2]].any()
    assert not held[:, [0, 2]].any()


def test_nothing_to_hold_out():
    targets = np.random.default_rng(0).uniform(size=(4, 5)) < 0.5
    train, held = split(np.random.default_rng(0), targets, 3, 0.0, lag=1)
    np.testing.assert_array_equal(train, np.repeat(targets[None], 3, 0))
    np.testing.assert_array_equal(held, train)


@given(
    n=st.integers(1, 3), length=st.integers(2, 6), lag=st.integers(1, 9), fraction=st.floats(0.01, 0.5)
)
def test_there_is_always_something_to_learn_from(n, length, lag, fraction):
    train, held = split(np.random.default_rng(0), np.ones((n, length), bool), 3, fraction, lag)
    assert train.any((1, 2)).all()
    assert held.any((1, 2)).all()
    assert not (train & held).any()


push = eqx.filter_jit(Recent.push)
take = eqx.filter_jit(Windows.take)
context_of = eqx.filter_jit(Recent.context)


@pytest.mark.parametrize("past", [Past(3, (0.5, 0.9), 2), Past(2, ()), Past(0, (0.8,), 1)])
def test_the_recent_past_is_the_context_of_the_next_row(past):
    rng = np.random.default_rng(0)
    y = jnp.asarray(rng.normal(size=(1, 8, 2)), dtype=float)
    seen = jnp.asarray(rng.uniform(size=(1, 8, 2)) > 0.3)
    u = jnp.asarray(rng.normal(size=(1, 8, past.d_u)), dtype=float)
    windows = Windows.of(y, seen, past, u)
    recent = Recent.none(past, 2)
    for t in range(8):
        _, context = take(windows, jnp.array([0]), jnp.array([t]))
        for found, expected in zip(context_of(recent, u[0, t]), context, strict=True):
            np.testing.assert_allclose(found, expected[0], rtol=1e-5, atol=1e-6)
        recent = push(recent, y[0, t], seen[0, t], u[0, t])
