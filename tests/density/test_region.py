import jax.numpy as jnp
import numpy as np

from tsnl.density import Region
from tsnl.windows import Past, Windows

PAST = Past(2, (0.5,))


def windows(y):
    return Windows.of(jnp.asarray(y, dtype=float), jnp.ones(y.shape, bool), PAST)


def test_what_is_like_the_training_set_is_inside():
    rng = np.random.default_rng(0)
    trained = windows(rng.normal(size=(40, 50, 2)))
    region = Region.of(trained, np.ones((40, 50), bool))
    fresh = windows(rng.normal(size=(1, 2000, 2)))
    times = jnp.arange(10, 2000)
    distance = np.asarray(region.distance(*fresh.take(jnp.zeros_like(times), times)))
    assert np.mean(distance > 1) < 0.005  # one in a thousand, and room for two thousand draws
    far = windows(30 + rng.normal(size=(1, 50, 2)))
    times = jnp.arange(5, 50)
    assert np.asarray(region.distance(*far.take(jnp.zeros_like(times), times))).min() > 2


def test_nothing_is_outside_an_unknown_region():
    region = Region.unknown(2, PAST)
    some = windows(100 * np.ones((1, 5, 2)))
    assert not np.asarray(region.distance(*some.take(jnp.zeros(5, int), jnp.arange(5)))).any()
