import shutil
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl import MCMC, TSNL, Training
from tsnl.kernel import Mixture
from tsnl.kernel.heads.stack import Stack
from tsnl.methods.sequential import states
from tsnl.models import LinearGaussian
from tsnl.problem import Problem
from tsnl.store.files import read_npz
from tsnl.store.results import _correction

MODEL = LinearGaussian(A=0.9, R=0.3)
PRIOR = tsnl.Prior(A=dist.Uniform(0.3, 0.99), Q=dist.LogNormal(-0.5, 0.7))
SERIES = MODEL.simulate(seed=3, length=40)
METHOD = TSNL(
    budget=60,
    head=Mixture(num_components=2, width=4, depth=1),
    training=Training(num_members=2, max_steps=400),
    sampler=MCMC(num_chains=4, min_ess=300),
)


def moments(draws):
    z = np.stack([np.log(one.ravel()) for one in draws.values()])
    return z.mean(axis=1), z.std(axis=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs") / "run"


@pytest.fixture(scope="module")
def result(folder):
    return tsnl.infer(MODEL, PRIOR, SERIES, METHOD, seed=0, progress=False, folder=folder)


@pytest.mark.slow
def test_the_posterior_is_close_to_the_exact_one_at_no_further_cost(result):
    assert result.cost == 60 * 40
    facts = result.history[-1]["states"]
    assert facts["gain"] > -states.SLACK
    exact = tsnl.infer(MODEL, PRIOR, SERIES, tsnl.ExactMCMC(), seed=0, progress=False)
    (mean, sd), (right, right_sd) = moments(result.draws), moments(exact.draws)
    # 60 paths leave an error of some tenths of an sd, 300 effective draws one of 0.06
    assert (np.abs(mean - right) < 0.8 * right_sd).all()
    assert (np.abs(np.log(sd / right_sd)) < 0.4).all()


def test_the_draws_have_the_density_that_the_posterior_says(result):
    z = result.posterior.z.reshape(-1, 2)[:20].astype(jnp.result_type(float))
    found = jax.jit(jax.vmap(result.posterior.log_density))(jnp.asarray(z))
    np.testing.assert_allclose(found, result.log_density.ravel()[:20], atol=5e-3)


def test_a_saved_run_has_the_same_posterior(result, folder):
    loaded = tsnl.load(folder)
    z = jnp.asarray(result.posterior.z[0, 0], dtype=float)
    assert float(loaded.posterior(z)) == pytest.approx(float(result.posterior(z)), abs=1e-3)
    assert loaded.posterior.likelihood.correction is not None


def test_the_last_round_is_aimed_by_the_states(result):
    facts = [record.get("states") for record in result.history]
    assert facts[0] is None
    assert "moved" in facts[1]  # the filter was taken
    assert 2 <= facts[1]["stages"] <= 6
    assert facts[2]["stages"] >= 3
    assert result.history[1]["power"] == 1.0


def test_networks_are_learned_where_the_filter_is_not_trusted(result, monkeypatch):
    assert not isinstance(result.posterior.kernel.spec.head, Stack)
    monkeypatch.setattr(states, "judge", lambda *_: np.full(32, -10.0))
    alone = tsnl.infer(MODEL, PRIOR, SERIES, METHOD, seed=0, progress=False)
    assert isinstance(alone.posterior.kernel.spec.head, Stack)
    assert alone.posterior.likelihood.correction is None
    assert len(alone.history) == len(result.history)
    assert alone.history[-1]["states"]["gain"] == -states.CUT
    assert sum(alone.history[-1]["weights"]) == pytest.approx(1)
    assert alone.cost == result.cost


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [3, 2])
def test_a_run_cut_off_after_some_rounds_comes_to_the_same_draws(result, folder, tmp_path, rounds):
    again = tmp_path / "again"
    shutil.copytree(folder, again)
    (again / "result.json").unlink()
    for file in (again / "rounds").glob("0003.*") if rounds < 3 else ():
        file.unlink()
    resumed = tsnl.infer(MODEL, PRIOR, SERIES, METHOD, seed=0, progress=False, folder=again, resume=True)
    for name, value in result.draws.items():
        np.testing.assert_array_equal(resumed.draws[name], value)


def test_more_rows_of_the_same_series_keep_the_correction_and_others_do_not(result):
    longer = np.concatenate([SERIES, SERIES[:5]])
    assert result.posterior.condition(longer).likelihood.correction is not None
    assert result.posterior.condition(SERIES + 0.1).likelihood.correction is None
    assert result.posterior.condition(SERIES[:30]).likelihood.correction is None


def test_a_forged_correction_is_refused(result, folder):
    arrays = read_npz(folder / "draws.npz")
    assert _correction(arrays, 2) is not None
    with pytest.raises(ValueError, match="no numbers"):
        _correction(arrays | {"correction.length": np.array(np.nan)}, 2)
    with pytest.raises(ValueError, match="does not fit"):
        _correction(arrays, 3)


def test_who_can_have_it():
    class Unseen(LinearGaussian):
        log_observation = None

    class Wide(LinearGaussian):
        def sample_initial(self, key, theta):
            return jnp.zeros(17)

    whole = Problem.of(MODEL, PRIOR, SERIES)
    assert METHOD.keeps_states(whole)
    assert METHOD.keeps_states(replace(whole, model=Unseen()))
    assert not METHOD.keeps_states(replace(whole, model=Wide()))
    assert not METHOD.keeps_states(replace(whole, panel=(np.ones((6001, 1)),)))
    box = Problem.of(lambda rng, theta: rng.normal(size=40), PRIOR, SERIES)
    assert not METHOD.keeps_states(box)
    assert not replace(METHOD, states=False).keeps_states(whole)


def test_a_law_that_cannot_be_learned_leaves_the_run_as_it_was(monkeypatch):
    def fail(*given):
        raise FloatingPointError("it diverged")

    monkeypatch.setattr(states, "learn_transition", fail)
    small = replace(METHOD, budget=16, training=Training(num_members=2, min_steps=50, max_steps=50))
    found = tsnl.infer(MODEL, PRIOR, SERIES, small, seed=0, progress=False)
    assert found.history[-1]["states"]["error"] == "FloatingPointError: it diverged"
    assert "the law of the states could not be learned" in found.status
    assert found.posterior.likelihood.correction is None
