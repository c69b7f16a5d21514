"""The methods on black boxes and tables."""

from dataclasses import replace
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl import MCMC, SNL, TSNL, BlackBox, Table, Training
from tsnl.evaluate.calibration import run_trials
from tsnl.kernel import MAF, Mixture
from tsnl.simulation import Processes, TooManyFailuresError, load_file

FILE = Path(__file__).parents[1] / "simulation" / "simulators.py"
black = load_file(FILE)
PRIOR = tsnl.Prior(Q=dist.LogNormal(-1.0, 0.7))
OPTIONS = {
    "simulations": 8,
    "head": Mixture(num_components=2, width=4, depth=1),
    "training": Training(num_members=2, min_steps=60, max_steps=60),
    "sampler": MCMC(num_chains=4, num_warmup=100, num_draws=150, max_extensions=0),
}
METHOD = TSNL(rounds=2, states=False, **OPTIONS)
WHOLE = SNL(rounds=3, max_cost=1, **(OPTIONS | {"head": MAF(num_layers=1, num_hidden=1, width=4)}))
SERIES = black.walk(np.random.default_rng(1), {"Q": 0.3})


@pytest.fixture(scope="module")
def fragile():
    return tsnl.infer(black.fragile, PRIOR, SERIES, METHOD, seed=0)


def test_the_same_draws_on_processes(fragile):
    with Processes(2, file=FILE) as executor:
        box = BlackBox(black.fragile, executor=executor, chunk=3)
        again = tsnl.infer(box, PRIOR, SERIES, METHOD, seed=0)
    np.testing.assert_array_equal(again.draws["Q"], fragile.draws["Q"])
    assert again.failures == fragile.failures


def test_failures_are_told(fragile):
    failures = fragile.failures
    assert 0 < len(failures) < 16
    assert len(failures) == fragile.history[-1]["failed"]
    assert {f["reason"] for f in failures} == {"raised FloatingPointError: overflow"}
    z = fragile.arrays["simulated.z"][[f["number"] for f in failures], 0]
    np.testing.assert_allclose(np.log([f["theta"]["Q"] for f in failures]), z, rtol=1e-4)
    assert fragile.cost == 16 * black.LENGTH


def test_the_probability_of_not_failing_counts_for_each_series(fragile):
    posterior, z = fragile.posterior, jnp.array([0.3])
    completion = posterior.likelihood.completion
    assert float(completion(z)) < 0
    panel = posterior.condition([SERIES, SERIES[:9]]).likelihood
    assert panel.completion is completion
    alone = replace(panel, completion=None)
    found = eqx.filter_jit(lambda both: both[0](z) - both[1](z))((panel, alone))
    np.testing.assert_allclose(found, 2 * float(completion(z)), rtol=1e-3)


def test_saved_and_loaded(fragile, tmp_path):
    fragile.save(tmp_path / "run")
    with pytest.raises(ValueError, match="its model could not be saved"):
        tsnl.load(tmp_path / "run")
    again = tsnl.load(tmp_path / "run", model=black.fragile)
    z = jnp.array([0.3])
    log_p = eqx.filter_jit(lambda posterior: posterior(z))
    assert log_p(again.posterior) == log_p(fragile.posterior)
    assert again.failures == fragile.failures
    assert again.problem.simulate(jax.random.key(0), {"Q": np.ones(1)}).series.shape == (1, 20, 1)


def test_what_needs_laws_says_so(fragile):
    for call in (
        lambda: fragile.states(seed=0),
        lambda: fragile.forecast(3, "simulator", seed=0),
        lambda: tsnl.infer(black.walk, PRIOR, SERIES, tsnl.PMMH(), seed=0),
    ):
        with pytest.raises(TypeError, match="A BlackBox only gives series"):
            call()
    with pytest.raises(TypeError, match="model is a BlackBox, but ExactMCMC"):
        tsnl.infer(black.walk, PRIOR, SERIES, tsnl.ExactMCMC(), seed=0)
    assert fragile.forecast(3, seed=0, num_draws=20).draws.shape == (20, 3, 1)


def test_replicates(fragile):
    report = fragile.check(refit=False, num_replicates=99)
    assert "replicates" in {verdict.name for verdict in report.verdicts}


def test_rejection_abc_records_them_too():
    result = tsnl.infer(black.fragile, PRIOR, SERIES, tsnl.RejectionABC(draws=20, fraction=0.2), seed=0)
    assert len(result.failures) == result.history[-1]["failed"] > 0


def test_nothing_changes_where_nothing_fails():
    result = tsnl.infer(black.walk, PRIOR, SERIES, METHOD, seed=0)
    assert result.failures == []
    assert result.posterior.likelihood.completion is None


def test_a_wrong_length_names_both():
    with pytest.raises(TooManyFailuresError, match=r"shape \(20,\), expected \(19, 1\)"):
        tsnl.infer(black.walk, PRIOR, SERIES[:-1], METHOD, seed=0)


def test_calibration():
    found = run_trials((black.walk, PRIOR, black.LENGTH), METHOD, 1, num_draws=10, progress=False)
    assert found.draws.shape == (1, 10, 1)


@pytest.mark.parametrize("method", [METHOD, pytest.param(WHOLE, marks=pytest.mark.slow)])
def test_a_table(fragile, method):
    rng = np.random.default_rng(0)
    q = rng.uniform(0.05, 1.0, 12)
    series = np.stack([black.walk(rng, {"Q": one}) for one in q])
    series[3, 10:] = np.nan
    result = tsnl.infer(Table({"Q": q}, series), PRIOR, SERIES, method, seed=0)
    assert result.cost == 0
    assert result.status.startswith("finished: one round on a table of 12 simulations")
    assert len(result.history) == 1
    assert [f["reason"] for f in result.failures] == ["not finite from row 11 on"]
    np.testing.assert_allclose(np.exp(result.arrays["simulated.z"][:, 0]), q, rtol=1e-5)
    assert result.check(refit=False).cost == 0
    with pytest.raises(TypeError, match="has no simulator to call"):
        tsnl.infer(Table({"Q": q}, series), PRIOR, SERIES, tsnl.RejectionABC(), seed=0)


@pytest.mark.parametrize(
    ("theta", "series", "message"),
    [
        ({"Q": np.ones(3)}, np.zeros((3, 19)), r"have shape \(19, 1\), the observed one \(20, 1\)"),
        ({"R": np.ones(3)}, np.zeros((3, 20)), r"parameters \['R'\], the prior \['Q'\]"),
        ({"Q": np.ones(2)}, np.zeros((3, 20)), "3 series and theta"),
        ({"Q": np.ones((3, 2))}, np.zeros((3, 20)), r"shape \(2,\), expected \(\)"),
        ({"Q": np.array([1.0, 2.0, -1.0])}, np.zeros((3, 20)), "first in row 3: {'Q': -1.0}"),
        ({"Q": np.ones(3)}, np.zeros(3), "expected"),
    ],
)
def test_tables_that_do_not_fit(theta, series, message):
    with pytest.raises(ValueError, match=message):
        tsnl.infer(Table(theta, series), PRIOR, SERIES, METHOD, seed=0)
