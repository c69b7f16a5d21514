"""Proposals for the simulations of a round."""

import jax
import numpy as np

from tsnl.experiments import LINEAR
from tsnl.methods.simulated import propose
from tsnl.sampling import Draws


def test_a_round_has_as_many_simulations_as_asked_for():
    z = np.random.default_rng(0).normal(-2.0, 0.3, (2, 50, 1))
    draws = Draws(z, z[..., 0], 1.0, 100.0, 0.4, 0, 0, True)
    problem = LINEAR.observe(0)
    for n in (30, 100, 101, 350):  # fewer, as many and more than there are draws
        proposed = propose(jax.random.key(0), np.random.default_rng(1), problem, draws, n, 1.0)
        assert proposed.shape == (n, 1)
        assert abs(proposed.mean() - z.mean()) < 0.1
        assert proposed.std() < 0.4
