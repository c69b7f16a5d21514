import jax.numpy as jnp
import numpy as np

from tsnl.methods.particle.pilot import central
from tsnl.sampling.pseudo_marginal import Chains, Path


def test_centre():
    z = np.array([[9.0, 9.0, 0.0, 1.0, 5.0, 1.2]])[:, :, None]
    path = Path(z, np.zeros((1, 6)), np.zeros((1, 6)))
    chains = Chains(jnp.asarray([[3.0], [4.0]]), jnp.asarray([1.0, 2.0]))
    np.testing.assert_allclose(central(path, chains), [1.2])  # the mean is 2.4
    empty = Path(z[:, :0], np.zeros((1, 0)), np.zeros((1, 0)))
    np.testing.assert_allclose(central(empty, chains), [4.0])
