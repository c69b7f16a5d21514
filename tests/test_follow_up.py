"""Evidence and other priors, against quadrature with the Kalman likelihood."""

import json
from dataclasses import replace
from functools import cache
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from paper.problems import linear_reference
from tsnl.methods.api import Outcome
from tsnl.methods.particle.second import BEFORE
from tsnl.models import LinearGaussian
from tsnl.posterior import Posterior
from tsnl.posterior.evidence import tempered_evidence
from tsnl.problem import Problem
from tsnl.result import Result

MODEL = LinearGaussian()
PRIOR = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
SERIES = MODEL.simulate(seed=1, length=20).astype(float)
GRID = np.linspace(-12, 6, 3601)


@cache
def exact(prior=PRIOR):
    """The exact density of z = log Q on the grid, and the log-evidence."""
    log_p = linear_reference(Problem.of(MODEL, prior, SERIES), GRID)
    density = np.exp(log_p - log_p.max())
    log_evidence = np.log(np.trapezoid(density, GRID)) + log_p.max()
    return density / np.trapezoid(density, GRID), log_evidence


def moments(prior):
    density = exact(prior)[0]
    mean = np.trapezoid(GRID * density, GRID)
    return mean, np.sqrt(np.trapezoid((GRID - mean) ** 2 * density, GRID))


@cache
def result():
    """Independent draws of the exact posterior, as `ExactMCMC` would leave them."""
    cumulative = np.cumsum(exact()[0])
    u = np.random.default_rng(0).uniform(size=(4, 1000))
    z = np.interp(u, cumulative / cumulative[-1], GRID)[:, :, None].astype(np.float32)
    problem = Problem.of(MODEL, PRIOR, SERIES)
    posterior = tsnl.ExactMCMC().exact_posterior(problem)
    outcome = Outcome(z, np.zeros(z.shape[:2]), 0, "finished", [{"seconds": 1.0}], posterior)
    return Result.of(problem, tsnl.ExactMCMC(), outcome, 0)


def test_evidence_by_tempering():
    found = result().evidence(seed=1)
    assert abs(found.log_evidence - exact()[1]) < 4.5 * found.se
    assert 0 < found.se < 0.3
    assert found.source == "exact likelihood"
    assert str(found).startswith("log-evidence -")
    assert result().evidence(seed=1) == found


def test_evidence_of_a_corrected_result():
    corrected = result().correct(seed=0, progress=False)
    found = corrected.evidence()
    assert abs(found.log_evidence - exact()[1]) < 4.5 * found.se + 1e-3
    assert found.se < 0.1
    other = tsnl.Prior(Q=dist.LogNormal(-1.5, 0.8))
    moved = corrected.with_prior(other).evidence()
    assert abs(moved.log_evidence - exact(other)[1]) < 4.5 * moved.se


def test_evidence_needs_a_likelihood():
    with pytest.raises(TypeError, match="ExactMCMC has no likelihood to average over the prior"):
        replace(result(), posterior=None).evidence()
    with pytest.raises(ValueError, match="num_runs is 1, expected at least 2"):
        result().evidence(num_runs=1)


class Off(eqx.Module):
    """The exact likelihood, and so many nats more."""

    exact: Any
    nats: float

    def __call__(self, z):
        return self.exact(z) + self.nats


class ByKernel(Posterior):
    """Taken for one by a kernel."""

    kernel = "stands for one"


def learned(nats, **changes):
    """A result whose kernel puts the likelihood too high by so many nats everywhere."""
    base = result()
    posterior = ByKernel(PRIOR, Off(base.posterior.likelihood, nats), base.problem.panel)
    return replace(base, posterior=posterior, **changes)


QUICK = {"num_particles": 50, "num_runs": 2}


def test_an_evidence_by_a_kernel_says_so_and_how_far_it_is_off():
    with pytest.warns(UserWarning, match=r"0.60 ± 0.00 nats too high. Better: result.correct\(seed=0\)"):
        found = learned(0.6).evidence(**QUICK)
    assert found.source == "kernel"
    assert found.kernel_error == pytest.approx(0.6, abs=1e-3)
    assert "it rests on the kernel alone, and by the exact likelihood it is 0.60" in str(found)
    near = learned(-0.05).evidence(**QUICK)  # no warning
    assert near.kernel_error == pytest.approx(-0.05, abs=1e-3)
    assert "nats too low" in near.note
    bare = learned(0.6).evidence(**QUICK, num_filters=0)
    assert bare.kernel_error is None
    assert bare.note == "it rests on the kernel alone; better: result.correct(seed=0).evidence()"
    with pytest.raises(ValueError, match="num_filters is -1, expected at least 0"):
        learned(0.6).evidence(num_filters=-1)


def test_an_evidence_by_a_kernel_without_densities_says_so():
    black_box = Problem.of(lambda rng, theta: rng.normal(size=20), PRIOR, SERIES)
    found = learned(0.6, problem=black_box).evidence(**QUICK)
    assert "no densities are known to correct it by: see result.check(local=True)" in found.note
    assert found.kernel_error is None


def test_chains_of_delayed_acceptance_have_no_evidence_of_their_own():
    chains = {BEFORE: result().unconstrained()}
    with pytest.warns(UserWarning, match="correct by tsnl.Correct"):
        found = learned(0.6, arrays=chains).evidence(**QUICK)
    assert found.source == "kernel"


class Elsewhere(eqx.Module):
    def __call__(self, z):
        return -0.5 * jnp.sum((z - 1.0) ** 2) / 0.1**2


def test_mass_where_no_draw_is_told():
    posterior = Posterior(PRIOR, Elsewhere(), z=result().unconstrained())
    found = tempered_evidence(posterior, seed=0, num_particles=100, num_runs=2)
    assert "sd away from the draws" in found.note
    assert "refine the result" in str(found)


def test_another_prior():
    other = tsnl.Prior(Q=dist.LogNormal(-2.0, 0.7))
    found = result().with_prior(other)
    mean, sd = moments(other)
    last = found.history[-1]
    z = np.log(found.draws["Q"])
    assert last["k_hat"] < 0.7
    assert abs(z.mean() - mean) < 4.5 * sd / last["ess"] ** 0.5
    assert abs(last["log_evidence_change"] - (exact(other)[1] - exact()[1])) < 0.1
    assert found.problem.prior is other
    assert found.posterior.prior is other
    assert found.cost == result().cost
    assert "under another prior: k-hat" in found.status
    assert json.dumps(found.history)
    theta = {"Q": np.float32(0.3)}
    gap = found.posterior.log_prob(theta) - result().posterior.log_prob(theta)
    expected = other.log_prob(theta) - PRIOR.log_prob(theta)
    assert float(gap) == pytest.approx(float(expected), abs=1e-4)


def test_another_support_is_another_z():
    bounded = tsnl.Prior(Q=dist.Uniform(0.05, 0.6))
    found = result().with_prior(bounded)
    assert (found.draws["Q"] < 0.6).all()
    assert found.posterior is None


def test_a_prior_that_is_too_far_is_told():
    far = tsnl.Prior(Q=dist.LogNormal(4.0, 0.3))
    with pytest.warns(UserWarning, match=r"k-hat is above 0.7.*infer anew"):
        found = result().with_prior(far)
    assert "k-hat is above 0.7" in found.status


@pytest.mark.usefixtures("unchecked")
def test_priors_that_do_not_fit():
    with pytest.raises(ValueError, match=r"over \['R'\], the draws are of \['Q'\]"):
        result().with_prior(tsnl.Prior(R=dist.LogNormal(0.0, 1.0)))
    with pytest.raises(ValueError, match="reaches where the old one did not"):
        result().with_prior(tsnl.Prior(Q=dist.Normal(0.0, 1.0)))
    with pytest.raises(TypeError, match="prior is a dict"):
        result().with_prior({"Q": dist.LogNormal(0.0, 1.0)})
    with pytest.raises(FloatingPointError, match="None of 4000 draws"):
        result().with_prior(tsnl.Prior(Q=dist.Uniform(50.0, 60.0)))
