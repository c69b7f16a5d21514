import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsnl.kernel.memory import Recurrent, after, along

MEMORY = Recurrent(width=5).make(jax.random.key(0), 2, 1)
along = eqx.filter_jit(along)
after = eqx.filter_jit(after)
push = eqx.filter_jit(type(MEMORY).push)


@settings(max_examples=10)
@given(seed=st.integers(0, 99), share=st.sampled_from([0.0, 0.4]))
def test_along_a_series_is_a_row_at_a_time(seed, share):
    rng = np.random.default_rng(seed)
    y, u = (jnp.asarray(rng.normal(size=(9, n)), dtype=float) for n in (2, 1))
    seen = jnp.asarray(rng.uniform(size=(9, 2)) >= share)
    found, state = along(MEMORY, y, seen, u), MEMORY.init()
    for t in range(9):
        np.testing.assert_allclose(found[t], MEMORY.features(state), atol=1e-5)
        state = push(MEMORY, state, jnp.where(seen[t], y[t], 0.0), seen[t], u[t])
    np.testing.assert_allclose(after(MEMORY, y, seen, u), state, atol=1e-5)
    assert found.shape == (9, sum(len(group.mean_sd) for group in MEMORY.groups()))


def test_far_out_values_stay_tame():
    y = jnp.full((4, 2), 1e30)
    assert jnp.isfinite(along(MEMORY, y, jnp.ones((4, 2), bool), jnp.zeros((4, 1)))).all()


def test_bad_options():
    with pytest.raises(ValueError, match="width is 0, expected at least 1"):
        Recurrent(width=0)
