"""How far a kernel is trusted, from log-likelihoods whose true power is known."""

import numpy as np
import pytest

from tsnl.kernel.select import POWERS, SUPPORT, calibrated_power, supported_power


def gaussian_log_likelihoods(power, n=400, others=64):
    """Of y ~ N(theta, 1) at theta ~ N(0, 3^2): right with power 1, too sure of itself with more."""
    rng = np.random.default_rng(0)
    theta, far = 3 * rng.normal(size=n), 3 * rng.normal(size=others)
    y = theta + rng.normal(size=n)
    places = np.column_stack([theta, np.tile(far, (n, 1))])
    return -0.5 * power * (y[:, None] - places) ** 2


@pytest.mark.parametrize("sure", [1.0, 5.0, 30.0])
def test_a_kernel_that_is_too_sure_is_trusted_less(sure):
    power = calibrated_power(gaussian_log_likelihoods(sure))
    assert POWERS[-1] <= power <= 1
    # powers are a factor of 1.43 apart; the largest within a standard error of the best is taken
    assert 0.7 / sure <= power <= min(2.1 / sure, 1.0)


def test_series_without_a_likelihood_do_not_count():
    found = gaussian_log_likelihoods(5.0)
    none = np.full((3, found.shape[1]), -np.inf)
    assert calibrated_power(np.concatenate([found, none])) == calibrated_power(found)
    assert calibrated_power(none) == 1.0  # nothing speaks against it


def test_support_keeps_enough_simulated_parameters_effective():
    values = -0.5 * np.linspace(-60, 60, 400) ** 2
    power = supported_power(values)
    weights = np.exp(power * values)
    size = weights.sum() ** 2 / (weights**2).sum()
    assert size >= SUPPORT
    assert power < 1
    assert supported_power(np.zeros(SUPPORT)) == 1.0
    assert supported_power(np.append(values, [np.nan, -np.inf])) == power
    assert supported_power(np.full(5, np.nan)) == POWERS[-1]
