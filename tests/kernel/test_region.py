import equinox as eqx
import jax.numpy as jnp
import numpy as np

from tsnl.kernel import Region
from tsnl.kernel.memory import Past, Windows

PAST = Past(2, (0.5,))


@eqx.filter_jit
def windows(y):
    return Windows.of(jnp.asarray(y, dtype=float), jnp.ones(y.shape, bool), PAST)


@eqx.filter_jit
def distances(region, made, times):
    return region.distance(*made.take(jnp.zeros_like(times), times))


def test_what_is_like_the_training_set_is_inside():
    rng = np.random.default_rng(0)
    trained = windows(rng.normal(size=(40, 50, 2)))
    region = Region.of(trained, np.ones((40, 50), bool))
    fresh = windows(rng.normal(size=(1, 2000, 2)))
    times = jnp.arange(10, 2000)
    distance = np.asarray(distances(region, fresh, times))
    assert np.mean(distance > 1) < 0.005  # one in a thousand, and room for two thousand draws
    far = windows(30 + rng.normal(size=(1, 50, 2)))
    times = jnp.arange(5, 50)
    assert np.asarray(distances(region, far, times)).min() > 2


def test_nothing_is_outside_an_unknown_region():
    region = Region.unknown(2, PAST)
    some = windows(100 * np.ones((1, 5, 2)))
    assert not np.asarray(region.distance(*some.take(jnp.zeros(5, int), jnp.arange(5)))).any()


def test_few_and_wild_points_are_enough():
    y = np.full((2, 3, 40), 1e7, dtype=np.float32)
    y[1] *= -3
    windows = Windows.of(jnp.asarray(y), jnp.ones(y.shape, bool), Past(0, ()))
    assert np.isfinite(Region.of(windows, np.ones((2, 3), bool)).whiten).all()
