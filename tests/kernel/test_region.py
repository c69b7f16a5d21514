import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tsnl.kernel import Decays, Lags, Region
from tsnl.kernel.memory import Beside, along

KEY = jax.random.key(0)
MEMORY = Beside((Lags(2).make(KEY, 2, 0), Decays((0.5,)).make(KEY, 2, 0)))
GROUPS = MEMORY.groups()


@eqx.filter_jit
def rows(y):
    """All rows of some series and their features."""
    y = jnp.asarray(y, dtype=float)
    seen, u = jnp.ones(y.shape[1:], bool), jnp.zeros((y.shape[1], 0))
    features = jax.vmap(lambda one: along(MEMORY, one, seen, u))(y)
    return y.reshape(-1, 2), features.reshape(y.shape[0] * y.shape[1], -1)


@eqx.filter_jit
def distances(region, made, times):
    y, features = made
    return region.distance(y[times], features[times], GROUPS)


def test_what_is_like_the_training_set_is_inside():
    rng = np.random.default_rng(0)
    region = Region.of(*rows(rng.normal(size=(40, 50, 2))), GROUPS)
    fresh = rows(rng.normal(size=(1, 2000, 2)))
    times = jnp.arange(10, 2000)
    distance = np.asarray(distances(region, fresh, times))
    assert np.mean(distance > 1) < 0.005  # one in a thousand, and room for two thousand draws
    far = rows(30 + rng.normal(size=(1, 50, 2)))
    times = jnp.arange(5, 50)
    assert np.asarray(distances(region, far, times)).min() > 2


def test_marks_of_what_is_absent_do_not_count():
    y, features = rows(np.random.default_rng(0).normal(size=(4, 30, 2)))
    marked = features.at[:, 4:8].set(1 - features[:, 4:8])  # after the lags, two rows of two columns
    one, other = (Region.of(y, c, GROUPS) for c in (features, marked))
    np.testing.assert_array_equal(one.whiten, other.whiten)
    assert one.centre.shape == (2 + 4 + 4,)
    for a, b in ((features, marked), (marked, features)):
        np.testing.assert_array_equal(one.distance(y, a, GROUPS), other.distance(y, b, GROUPS))


def test_nothing_is_outside_an_unknown_region():
    region = Region.unknown(2, GROUPS)
    assert not np.asarray(distances(region, rows(100 * np.ones((1, 5, 2))), jnp.arange(5))).any()


def test_few_and_wild_points_are_enough():
    y = np.full((6, 40), 1e7, dtype=np.float32)
    y[3:] *= -3
    assert np.isfinite(Region.of(y, np.zeros((6, 0), dtype=np.float32), ()).whiten).all()
