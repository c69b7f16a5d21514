from functools import cache

import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from paper import LINEAR
from paper.problems import linear_reference
from tsnl import MCMC, SNL, TSNL, Training
from tsnl.evaluate.metrics import total_variation
from tsnl.kernel import MAF, Mixture
from tsnl.models import LinearGaussian

MODEL = LinearGaussian()
PRIOR = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
SERIES = MODEL.simulate(seed=1, length=20)
QUICK = {
    "training": Training(num_members=2, min_steps=60, max_steps=60),
    "sampler": MCMC(num_chains=4, num_warmup=100, num_draws=150, max_extensions=0),
}
# Of the same shapes as in the table of all methods: compiled once for both.
SMALL = MAF(num_layers=2, num_hidden=1, width=8)


@cache
def run(**options):
    method = SNL(rounds=2, simulations=16, head=SMALL, **QUICK, **options)
    return tsnl.infer(MODEL, PRIOR, SERIES, method, seed=0)


def test_what_it_returns():
    result = run()
    assert result.draws["Q"].shape == (4, 150)
    assert result.cost == 2 * 16 * 20
    assert result.lag is None
    assert np.isfinite(result.log_density).all()
    kernel = result.posterior.kernel
    assert (kernel.spec.lag, kernel.spec.memory, kernel.spec.whole) == (0, (), True)
    assert kernel.scaling.y_mean.shape == (20,)  # one row of twenty entries


def test_it_is_saved_and_loaded(tmp_path):
    result = run()
    result.save(tmp_path)
    again = tsnl.load(tmp_path)
    theta = {"Q": np.float32(0.3)}
    assert again.posterior.log_prob(theta) == result.posterior.log_prob(theta)
    assert again.lag is None
    assert again.method == result.method


def budget(method_class, max_cost, **options):
    method = method_class(rounds=4, simulations=8, max_cost=max_cost, **QUICK, **options)
    return tsnl.infer(MODEL, PRIOR, SERIES, method, seed=0)


def test_a_budget_is_kept():
    result = budget(SNL, 8 * 20 + 5 * 20 + 4, head=SMALL)
    assert result.cost == 8 * 20 + 5 * 20
    assert result.status.startswith("stopped after round 2: the budget of 264 calls is used up")
    assert [record["simulations"] for record in result.history] == [8, 13]
    assert result.draws["Q"].shape == (4, 150)  # the last round that is affordable gets the full sampler


@pytest.mark.slow
def test_a_budget_is_kept_by_windows_too():
    result = budget(TSNL, 330, head=Mixture(num_components=2, width=4, depth=1))
    assert result.cost == 320
    assert result.draws["Q"].shape == (4, 150)


@pytest.mark.parametrize("method", [SNL, TSNL])
def test_a_budget_for_nothing(method):
    with pytest.raises(ValueError, match="max_cost is 5, less than the 20 calls of one simulation"):
        budget(method, 5)


def test_missing_entries_are_not_for_it():
    gappy = SERIES.copy()
    gappy[2] = np.nan
    with pytest.raises(ValueError, match="1 missing entries, which SNL cannot use yet"):
        tsnl.infer(MODEL, PRIOR, gappy, SNL(), seed=0)


@pytest.mark.slow
def test_many_simulations_come_close_to_the_exact_posterior():
    grid, distances = np.linspace(np.log(1e-3), np.log(5.0), 400), []
    for seed in range(3):  # a density of a hundred entries at once: single series are 0.05 to 0.3 off
        problem = LINEAR.observe(seed)
        method = SNL(rounds=5, simulations=1000)
        result = tsnl.infer(problem.model, problem.prior, problem.series, method, seed=seed)
        found = np.array([float(result.posterior(z)) for z in grid[:, None].astype(np.float32)])
        exact = linear_reference(problem, grid)
        densities = (np.exp(log_p - log_p.max()) for log_p in (exact, found))
        distances.append(total_variation(*densities, grid))
    assert np.median(distances) < 0.15
