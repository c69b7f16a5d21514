import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tsnl.checks.budget import check_budget, member_means
from tsnl.checks.draws import (
    log_likelihoods,
    member_log_likelihoods,
    weighted_shift,
    weights,
)
from tsnl.checks.health import check_sampler
from tsnl.problem.draws import thinned


def test_weights_reach_another_mean():
    z = np.random.default_rng(0).normal(size=(5000, 1))
    log_ratio = -0.5 * (z[:, 0] - 0.5) ** 2 + 0.5 * z[:, 0] ** 2
    assert weighted_shift(z, weights(0 * log_ratio), weights(log_ratio)) == pytest.approx(0.5, abs=0.05)
    wild = weights(200 * z[:, 0])
    assert wild.sum() == pytest.approx(1.0)
    assert np.isfinite(wild).all()


def test_a_narrower_posterior_is_a_shift_too():
    z = np.random.default_rng(0).normal(size=(5000, 1))
    shift = weighted_shift(z, weights(0 * z[:, 0]), weights(-1.5 * z[:, 0] ** 2))
    assert shift == pytest.approx(np.log(2), abs=0.05)


def test_members_that_are_one_agree(result):
    likelihood = result.posterior.likelihood
    z = thinned(result.unconstrained(), 100)
    same = jax.tree.map(
        lambda x: x[jnp.array([0, 0])] if eqx.is_array(x) else x, likelihood.kernel.members
    )
    single = eqx.tree_at(lambda x: x.kernel.members, likelihood, same)
    found = member_log_likelihoods(single, z)
    np.testing.assert_allclose(found, np.stack([log_likelihoods(single, z)] * 2, axis=1), atol=1e-3)
    assert np.abs(member_means(single, z)).max() < 1e-3
    assert np.abs(member_means(likelihood, z)).max() > 1e-3


def test_what_moved_is_judged(result):
    z = thinned(result.unconstrained(), 100)
    likelihood = result.posterior.likelihood

    def shifted(shift):
        return [*result.history[:-1], {**result.history[-1], "shift": shift}]

    quiet = check_budget(likelihood, shifted(0.0), z)
    assert quiet.figures["members"] >= 0
    assert quiet.figures["simulations"] == 16
    moved = check_budget(likelihood, shifted(2.0), z)
    assert moved.verdict == "fail"
    assert moved.remedy.startswith("Run one more round of 8 simulations: result.refine(simulations=8,")
    alone = check_budget(likelihood, [{**result.history[-1], "shift": float("nan")}], z)
    assert alone.figures["shift"] is None


@pytest.mark.parametrize("counts", [(8, 16, 48), (8, 12)], ids=["refined", "cut off by max_cost"])
def test_simulations_are_those_that_were_made(result, counts):
    z = thinned(result.unconstrained(), 100)
    history = [{"simulations": n, "shift": 2.0} for n in counts]
    found = check_budget(result.posterior.likelihood, history, z)
    assert found.figures["simulations"] == counts[-1]
    assert found.remedy.startswith(f"Run one more round of {counts[-1] - counts[-2]} simulations: ")


def test_sampler():
    rng = np.random.default_rng(0)
    good = rng.normal(size=(4, 300, 2))
    assert check_sampler(good).verdict == "pass"
    apart = good + np.arange(4)[:, None, None]
    assert check_sampler(apart).verdict == "fail"
    assert check_sampler(apart).remedy == "Draw more, 600 per chain: sampler=MCMC(num_draws=600)."
    copies = np.repeat(good[:, :20], 15, axis=1)
    assert check_sampler(rng.permuted(copies, axis=1)[..., :1]).figures["ess"] <= 80
    assert check_sampler(good[:, :50]).verdict == "look"
    assert check_sampler(good, 1).verdict == "look"
    assert check_sampler(good, good.size).verdict == "fail"
    assert "diverged" in check_sampler(good, 1).sentence
