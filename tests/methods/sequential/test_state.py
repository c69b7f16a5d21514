import numpy as np

from tsnl import MCMC
from tsnl.methods.sequential.state import draft_sampler, shift, training_note, unsettled_note


def test_a_rough_sampler_draws_enough_to_propose_from():
    sampler = MCMC(num_chains=4, num_draws=300)
    assert draft_sampler(sampler, 20).num_draws == 50
    assert 4 * draft_sampler(sampler, 500).num_draws >= 2 * 500
    assert draft_sampler(sampler, 10_000).num_draws == 300


def test_shift_is_in_standard_deviations():
    z = np.random.default_rng(0).normal(size=(2, 500, 1))
    np.testing.assert_allclose(shift(z, z), 0, atol=1e-12)
    np.testing.assert_allclose(shift(z, z + 0.5), 0.5 / z.std(), rtol=1e-6)
    np.testing.assert_allclose(shift(z - z.mean(), 2 * (z - z.mean())), np.log(2), rtol=1e-6)


def test_a_status_says_where_the_last_round_should_not_be_the_last():
    assert unsettled_note({"shift": 0.3, "trusted": 0.7}) == ""
    assert unsettled_note({"shift": float("nan"), "trusted": 1.0}) == ""
    assert "4.2 sd: it has not settled, simulate more" in unsettled_note({"shift": 4.21, "trusted": 1.0})
    assert "power 0.02: it is far too sure" in unsettled_note({"shift": 0.1, "trusted": 0.02})


def test_a_status_says_where_training_diverged():
    assert training_note({"retries": 0, "left_out": 0}) == ""
    assert training_note({"retries": 1, "left_out": 0}).endswith("again with smaller steps")
    assert "2 of its members diverged all the same" in training_note({"retries": 3, "left_out": 2})
