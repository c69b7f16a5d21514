"""What every method does: one table drives all of it."""

import json
from dataclasses import dataclass, replace
from functools import cache

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl import (
    MCMC,
    MCMCABC,
    PMMH,
    SMCABC,
    SNL,
    TSNL,
    Correct,
    DelayedPMMH,
    ExactMCMC,
    RejectionABC,
    Training,
)
from tsnl.kernel import MAF, Mixture
from tsnl.methods import METHODS
from tsnl.methods.api import Method, Outcome, check_capabilities
from tsnl.models import LinearGaussian
from tsnl.problem import Problem

MODEL = LinearGaussian()
PRIOR = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
SERIES = MODEL.simulate(seed=1, length=20)
TRAINING = Training(num_members=2, min_steps=60, max_steps=60)
SAMPLER = MCMC(num_chains=4, num_warmup=100, num_draws=150, max_extensions=0)
QUICK = {
    TSNL: TSNL(
        states=False,
        rounds=2,
        simulations=8,
        head=Mixture(num_components=2, width=4, depth=1),
        training=TRAINING,
        sampler=SAMPLER,
    ),
    SNL: SNL(rounds=2, simulations=16, head=MAF(2, 1, 8), training=TRAINING, sampler=SAMPLER),
    SMCABC: SMCABC(particles=20, max_generations=2),
    RejectionABC: RejectionABC(draws=20, fraction=0.2),
    MCMCABC: MCMCABC(num_chains=4, num_warmup=10, num_draws=20, pilot=64, pilot_share=0.5),
    PMMH: PMMH(num_steps=50, num_warmup=20, num_chains=2, num_particles=20),
    ExactMCMC: ExactMCMC(sampler=replace(SAMPLER, num_warmup=50)),
}
QUICK[Correct] = Correct(first=QUICK[TSNL], num_draws=100, min_ess=1)
QUICK[DelayedPMMH] = DelayedPMMH(first=QUICK[TSNL], num_steps=50, num_warmup=20, num_chains=2)
ALL = pytest.mark.parametrize("kind", METHODS, ids=lambda kind: kind.__name__)


class Counting:
    """A linear model as a function that knows how often it was called."""

    def __init__(self):
        self.calls = 0

    def __call__(self, rng, theta):
        self.calls += 1
        x, rows = rng.normal(), []
        for _ in range(20):
            x = 0.9 * x + np.sqrt(theta["Q"]) * rng.normal()
            rows.append(x + np.sqrt(0.1) * rng.normal())
        return np.array(rows)


@cache
def run(kind):
    return tsnl.infer(MODEL, PRIOR, SERIES, QUICK[kind], seed=0, progress=False)


def same(a, b):
    np.testing.assert_array_equal(a.draws["Q"], b.draws["Q"])
    np.testing.assert_array_equal(a.log_density, b.log_density)
    assert (a.cost, a.status, a.method, a.seed, a.lag) == (b.cost, b.status, b.method, b.seed, b.lag)
    for name, value in a.arrays.items():
        np.testing.assert_array_equal(value, b.arrays[name])


def test_every_method_is_here():
    assert set(QUICK) == set(METHODS)


@ALL
def test_runs(kind):
    result = run(kind)
    draws = result.draws["Q"]
    assert draws.ndim == 2
    assert draws.shape == result.log_density.shape
    assert (np.isfinite(draws) & (draws > 0)).all()
    assert result.status
    assert json.loads(json.dumps(result.history))
    assert isinstance(result.method, Method)


@ALL
def test_costs(kind):
    """Every call of the dynamics is counted: T for each call of a simulator."""
    if QUICK[kind].needs_density or kind is ExactMCMC:
        assert (run(kind).cost > 0) == QUICK[kind].needs_density
        return
    simulator = Counting()
    result = tsnl.infer(simulator, PRIOR, SERIES, QUICK[kind], seed=0, progress=False)
    assert result.cost == 20 * simulator.calls


@ALL
def test_saves_and_loads(kind, tmp_path):
    run(kind).save(tmp_path)
    again = tsnl.load(tmp_path)
    same(again, run(kind))
    assert (again.posterior is None) == (run(kind).posterior is None)
    if again.posterior is not None:
        theta = {"Q": np.float32(0.3)}
        np.testing.assert_allclose(
            again.posterior.log_prob(theta), run(kind).posterior.log_prob(theta), rtol=1e-6
        )


@ALL
def test_resumes(kind, tmp_path):
    folder = tmp_path / "run"
    tsnl.infer(MODEL, PRIOR, SERIES, QUICK[kind], seed=0, folder=folder, progress=False)
    (folder / "result.json").unlink()  # as if it had been killed just before its end
    again = tsnl.infer(
        MODEL, PRIOR, SERIES, QUICK[kind], seed=0, folder=folder, resume=True, progress=False
    )
    same(again, run(kind))
    with pytest.raises(FileExistsError, match="holds a run already"):
        tsnl.infer(MODEL, PRIOR, SERIES, QUICK[kind], seed=0, folder=folder)


@ALL
def test_refuses_what_it_cannot_take(kind):
    method = QUICK[kind]
    gaps = np.where(np.arange(20) == 5, np.nan, SERIES[:, 0])
    table = tsnl.Table({"Q": np.ones(9)}, np.tile(SERIES[None], (9, 1, 1)))
    for takes, question, error, message in (
        (method.takes_missing, (MODEL, PRIOR, gaps), ValueError, "1 missing entries"),
        (method.takes_panel, (MODEL, PRIOR, [SERIES, SERIES]), ValueError, "takes one series, 2 were"),
        (method.takes_table, (table, PRIOR, SERIES), TypeError, "has no simulator to call"),
        (not method.needs_density, (Counting(), PRIOR, SERIES), TypeError, "only gives series"),
    ):
        problem = Problem.of(*question)
        if takes:
            check_capabilities(method, problem)
        else:
            with pytest.raises(error, match=message):
                tsnl.infer(*question, method, seed=0)


@pytest.mark.usefixtures("unchecked")
def test_what_is_no_method_is_refused():
    with pytest.raises(TypeError, match=r"method is 'TSNL', expected one such as tsnl.TSNL\(\)"):
        tsnl.infer(MODEL, PRIOR, SERIES, "TSNL", seed=0)


def test_defaults_of_the_protocol():
    @dataclass(frozen=True)
    class Own(Method):
        def run(self, key, problem, progress):
            z = problem.prior.sample_unconstrained(key, 10)[None]
            return Outcome(z, np.zeros((1, 10)), 0, "drawn from the prior", [])

    own = Own()
    assert not any((own.takes_missing, own.takes_panel, own.takes_table, own.needs_density))
    result = tsnl.infer(MODEL, PRIOR, SERIES, own, seed=0)
    z = PRIOR.sample_unconstrained(jax.random.key(0), 10)
    np.testing.assert_allclose(result.draws["Q"][0], np.exp(z[:, 0]), rtol=1e-5)
    assert result.posterior is None
