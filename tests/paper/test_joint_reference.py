"""Sampling parameters and states together, against particle filters on a grid."""

from dataclasses import replace

import numpy as np
import pytest

from paper.joint_reference import draw_joint
from paper.problems import VOLATILITY
from paper.references import VOLATILITY_GRID, density, volatility_reference
from tsnl.sampling.diagnostics import ess, r_hat


@pytest.mark.slow
def test_draws_agree_with_particle_filters():
    setting = replace(VOLATILITY, length=20)
    draws = draw_joint(setting, 0, num_warmup=200, num_draws=250)
    assert draws.shape == (4, 250, 1)
    assert r_hat(draws).max() < 1.05
    p = density(volatility_reference(setting, 0, num_particles=2000)[0])
    p /= p.sum()
    mean = p @ VOLATILITY_GRID
    sd = np.sqrt(p @ (VOLATILITY_GRID - mean) ** 2)
    error = sd / np.sqrt(ess(draws)[0])
    assert abs(draws.mean() - mean) < 4 * error
    assert abs(draws.std() - sd) < 4 * error  # of an sd the error is 1 / sqrt(2) of a mean's
