"""Models of the same data side by side."""

import warnings
from dataclasses import replace
from functools import cache

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from paper.problems import linear_reference
from tsnl import MCMC, TSNL, ExactMCMC, Training
from tsnl.evaluate.models import Comparison, _kernel_notes, compare_models, discrete
from tsnl.kernel import Mixture
from tsnl.methods.api import Outcome
from tsnl.models import LinearGaussian
from tsnl.posterior.evidence import Evidence, tempered_evidence
from tsnl.problem import Problem
from tsnl.result import Result

SERIES = LinearGaussian().simulate(seed=1, length=20).astype(float)
PRIOR = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
WALK, NOISE = LinearGaussian(A=0.9), LinearGaussian(A=0.0)


def left(model=WALK, series=SERIES, evidence=-30.0, **arrays):
    """A corrected result with a given evidence: nothing needs to be sampled."""
    problem = Problem.of(model, PRIOR, series)
    record = {"log_evidence": evidence, "log_evidence_se": 0.1, "num_particles": 0, "k_hat": 0.2}
    z = np.zeros((1, 50, 1), dtype=np.float32)
    outcome = Outcome(z, np.zeros((1, 50)), 0, "", [record], arrays=arrays)
    return Result.of(problem, ExactMCMC(), outcome, 0)


def test_evidences_become_probabilities():
    given = {"walk": left(), "noise": left(NOISE, evidence=-32.0)}
    found = compare_models(given, scores=False)
    assert found.best == "walk"
    assert found.probabilities["walk"] == pytest.approx(1 / (1 + np.exp(-2.0)))
    assert sum(found.probabilities.values()) == pytest.approx(1)
    gap, se = found.log_bayes_factor("walk", "noise")
    assert gap == pytest.approx(2.0)
    assert se == pytest.approx(0.1 * np.sqrt(2))
    assert "walk" in str(found)
    assert "-30.00 ± 0.10" in str(found)
    odds = compare_models(given, scores=False, prior={"walk": 1.0, "noise": 9.0})
    assert odds.probabilities["walk"] == pytest.approx(1 / (1 + 9 * np.exp(-2.0)))


def test_kernels_that_are_off_may_hide_the_best():
    evidences = {
        "a": Evidence(-30.0, 0.1, "kernel", "it rests on the kernel alone", 0.7),
        "b": Evidence(-30.4, 0.1, "kernel", "it rests on the kernel alone", 0.1),
    }
    assert _kernel_notes(evidences) == ["Less what the kernels are off by, b has the largest evidence."]
    less = {**evidences, "a": Evidence(-30.0, 0.1, "kernel", "", 0.2)}
    assert _kernel_notes(less) == []
    untold = {**evidences, "a": Evidence(-30.0, 0.1, "kernel", "", float("nan"))}
    assert _kernel_notes(untold) == []


def test_notes_of_evidences_are_told(monkeypatch):
    told = Evidence(-30.0, 0.1, "kernel", "it rests on the kernel alone", 0.7)
    monkeypatch.setattr(Result, "evidence", lambda self, seed: told)
    found = compare_models({"a": left(), "b": left()}, scores=False)
    assert "a: it rests on the kernel alone." in str(found)


def test_scores_have_an_error_of_their_difference():
    rng = np.random.default_rng(0)
    a = rng.normal(size=50)
    scores = {"a": a, "b": a - 0.1 + 0.01 * rng.normal(size=50)}
    scores["b"][3] = np.nan
    evidences = {name: Evidence(0.0, 0.1, "kernel") for name in scores}
    found = Comparison(evidences, {"a": 0.5, "b": 0.5}, scores, 50)
    total, se = found.score_difference("a", "b")
    assert total == pytest.approx(4.9, abs=0.5)
    assert se < 0.2  # what they share is not in it
    assert "one-step score" in str(found)
    assert len(found.plot().axes) == 2


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(ValueError, match=r"1 model\(s\): give at least two"):
        compare_models({"walk": left()})
    with pytest.raises(ValueError, match="a and b are of different data"):
        compare_models({"a": left(), "b": left(series=SERIES[:-1])})
    gap = np.where(np.arange(20)[:, None] == 3, np.nan, SERIES)
    with pytest.raises(ValueError, match="a and b are of different data"):
        compare_models({"a": left(), "b": left(series=gap)})
    with pytest.raises(ValueError, match="expected a positive number for each"):
        compare_models({"a": left(), "b": left()}, prior={"a": 1.0})
    bare = replace(left(), history=[{}])
    with pytest.raises(TypeError, match="ExactMCMC has no likelihood"):
        compare_models({"a": bare, "b": bare})


def test_counts_and_reals_have_no_common_scale():
    counts = np.arange(40.0).reshape(2, 20, 1)
    a, b = left(**{"simulated.series": counts}), left(**{"simulated.series": counts + 0.5})
    assert discrete(a) == (True,)
    assert discrete(b) == (False,)
    with pytest.raises(ValueError, match=r"probabilities of counts and b densities.*same counts="):
        compare_models({"a": a, "b": b})
    compare_models({"a": a, "b": a}, scores=False)


def test_no_kernel_no_scores():
    found = compare_models({"a": left(), "b": left()})
    assert found.scores == {}
    assert "No one-step scores: a has no kernel" in str(found)
    assert len(found.plot().axes) == 1


METHOD = TSNL(
    states=False,
    rounds=2,
    simulations=8,
    head=Mixture(num_components=2, width=4, depth=1),
    training=Training(num_members=2, min_steps=60, max_steps=60),
    sampler=MCMC(num_chains=4, num_warmup=100, num_draws=150, max_extensions=0),
)


@cache
def learned(a):
    model = LinearGaussian(A=a)
    return tsnl.infer(model, PRIOR, SERIES, METHOD, seed=0, progress=False)


def exact(a):
    """The log-evidence by quadrature over z = log Q."""
    grid = np.linspace(-12, 6, 3601)
    log_p = linear_reference(Problem.of(LinearGaussian(A=a), PRIOR, SERIES), grid)
    return np.log(np.trapezoid(np.exp(log_p - log_p.max()), grid)) + log_p.max()


@pytest.mark.slow
def test_by_kernels_and_corrected():
    given = {"walk": learned(0.9), "noise": learned(0.0)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # so few simulations: the kernels may be off
        found = compare_models(given)
    assert "walk: it rests on the kernel alone, and by the exact likelihood it is" in str(found)
    assert {len(scores) for scores in found.scores.values()} == {10}
    assert all(np.isfinite(scores).all() for scores in found.scores.values())
    assert found.evidences["walk"].source == "kernel"
    with pytest.raises(ValueError, match="first is 19, expected 2 to 18"):
        compare_models(given, first=19)
    right = {name: result.correct(seed=0, progress=False) for name, result in given.items()}
    found = compare_models(right, scores=False)
    for name, a in (("walk", 0.9), ("noise", 0.0)):
        evidence = found.evidences[name]
        assert abs(evidence.log_evidence - exact(a)) < 4.5 * evidence.se + 1e-3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        mixed = compare_models({"walk": right["walk"], "noise": given["noise"]}, scores=False)
    assert "The evidences are of different kinds: exact likelihood, kernel." in str(mixed)


@pytest.mark.slow
def test_the_true_model_is_preferred_as_often_as_its_probability_says():
    """Walk plus noise against white noise, each series from one of them with even odds."""
    rng, miss, spread = np.random.default_rng(0), 0.0, 0.0
    for i in range(40):
        truth = WALK if rng.uniform() < 0.5 else NOISE
        theta = PRIOR.sample(jax.random.key(i))
        series = truth.simulate(seed=i, length=20, theta=theta)
        found = []
        for model in (WALK, NOISE):
            posterior = ExactMCMC().exact_posterior(Problem.of(model, PRIOR, series))
            found.append(tempered_evidence(posterior, seed=i, num_particles=100, num_runs=2))
        p = 1 / (1 + np.exp(found[1].log_evidence - found[0].log_evidence))
        miss += p - (truth is WALK)
        spread += p * (1 - p)
    assert spread > 0.5
    assert abs(miss) < 4.5 * np.sqrt(spread)
