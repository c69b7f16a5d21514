import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsnl.kernel.lag import LADDER, THRESHOLD, acf_norms, by_acf, by_score


def autoregression(rho, length, num=1, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=(num, length, 1))
    for t in range(1, length):
        y[:, t] = rho * y[:, t - 1] + np.sqrt(1 - rho**2) * y[:, t]
    return y


@given(length=st.integers(4, 20), d_y=st.integers(1, 3), seed=st.integers(0, 99))
def test_norms_are_the_sums_from_l_plus_1_to_t(length, d_y, seed):
    y = np.random.default_rng(seed).normal(size=(length, d_y))
    mean, norms = y.mean(0), []
    for lag in range(3):
        total = np.zeros((d_y, d_y))
        for t in range(lag + 1, length + 1):  # t counts from 1
            total += np.outer(y[t - lag - 1] - mean, y[t - 1] - mean)
        norms.append(np.sqrt(((total / (length - lag)) ** 2).sum()))
    np.testing.assert_allclose(acf_norms(y, 2), np.array(norms) / norms[0], rtol=1e-9)


def test_norms_of_an_autoregression():
    """rho^L, within 4.5 standard errors of about sqrt((1 + rho^2) / (1 - rho^2) / T)."""
    found = acf_norms(autoregression(0.8, 100_000)[0], 6)
    error = np.sqrt((1 + 0.64) / (1 - 0.64) / 100_000)
    np.testing.assert_allclose(found, 0.8 ** np.arange(7), atol=4.5 * error)


def test_rows_with_nan_are_left_out():
    y = autoregression(0.5, 50)[0]
    gappy = np.concatenate([[[np.nan]], y])
    np.testing.assert_allclose(acf_norms(gappy, 3), acf_norms(y, 3))


def test_an_autoregressions_lag():
    """0.8^7 = 0.21 is the last above 0.2."""
    choice = by_acf(autoregression(0.8, 4000)[0], autoregression(0.8, 4000, num=20, seed=1))
    assert choice.lag in (7, 8)
    assert str(choice.lag) in choice.reason
    above = [k for k, v in choice.scores.items() if v >= THRESHOLD]
    assert max(above) == choice.lag


def test_white_noise_needs_one_lag():
    choice = by_acf(autoregression(0.0, 400)[0], autoregression(0.0, 400, num=10, seed=1))
    assert choice.lag == 1


def test_short_series_and_useless_simulations():
    simulated = np.full((3, 6, 1), np.nan)
    simulated[0] = 1.0  # constant
    choice = by_acf(autoregression(0.9, 6)[0], simulated)
    assert choice.lag == 1
    assert list(choice.scores) == [0, 1]


LOSSES = {1: (1.3, 10), 2: (1.1, 20), 4: (1.05, 40), 8: (1.04, 80), 16: (1.2, 160), 32: (1.5, 320)}


@pytest.mark.parametrize(
    ("rule", "price"), [("validation", 0.0), ("aic", 1.0), ("bic", 0.5 * np.log(400))]
)
def test_prices_of_a_weight(rule, price):
    choice = by_score(rule, 100, LOSSES.__getitem__, 400)
    expected = {lag: loss + price * k / 400 for lag, (loss, k) in LOSSES.items()}
    assert choice.scores == pytest.approx(expected)
    assert choice.lag == min(expected, key=expected.get)
    assert rule in choice.reason


def test_dearer_weights_mean_shorter_lags():
    lags = [by_score(rule, 100, LOSSES.__getitem__, 400).lag for rule in ("validation", "aic", "bic")]
    assert lags == [8, 2, 2]


def test_lags_beyond_the_series_are_left_out():
    asked = []

    def evaluate(lag):
        asked.append(lag)
        return 0.0, 1

    by_score("validation", 8, evaluate, 100)
    assert asked == [lag for lag in LADDER if lag < 8]


def test_rows_that_are_missing_do_not_join_their_neighbours():
    series = np.tile([[1.0], [-1.0]], (20, 1))
    gappy = series.copy()
    gappy[7] = np.nan  # without it, two rows of one sign would stand side by side
    whole, found = acf_norms(series, 3), acf_norms(gappy, 3)
    np.testing.assert_allclose(found, whole, atol=0.01)
