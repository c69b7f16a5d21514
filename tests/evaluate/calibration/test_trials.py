from dataclasses import dataclass, replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy.stats import norm

import tsnl
from paper import LINEAR
from tsnl import MCMC, TSNL, Training
from tsnl.checks.uniformity import rank_ecdf
from tsnl.evaluate.calibration import Trials, ranks, refit, run_trials, seed_of, thin
from tsnl.kernel import Mixture
from tsnl.methods.api import Method, Outcome
from tsnl.posterior import Posterior

LENGTH = 4
PRIOR = tsnl.Prior(m=dist.Normal(jnp.zeros(2), 1.0))


class Level(tsnl.StateSpaceModel):
    """y_t ~ N(m, 1), m two levels; a level above `ceiling` cannot be simulated."""

    m: tuple[float, float] = (0.0, 0.0)
    ceiling: float = eqx.field(static=True, default=np.inf)

    def sample_initial(self, key, theta):
        return jnp.zeros(())

    def sample_transition(self, key, state, theta, t, u):
        return state

    def sample_observation(self, key, state, theta, t, u):
        y = jnp.asarray(theta["m"]) + jax.random.normal(key, (2,))
        return jnp.where(jnp.max(jnp.asarray(theta["m"])) > self.ceiling, jnp.nan, y)


class LevelLikelihood(eqx.Module):
    series: jax.Array

    def __call__(self, z):
        return -0.5 * jnp.sum((self.series - z) ** 2)


def exact_draws(key, series, width=1.0, shift=0.0, shape=(2, 100)):
    """Draws of N(sum y / (T + 1), 1 / (T + 1)): in standard deviations wrong by width and shift."""
    n = len(series) + 1
    noise = np.random.default_rng(seed_of(key)).normal(size=(*shape, 2))
    return series.sum(axis=0) / n + (shift + width * noise) / np.sqrt(n)


@eqx.filter_jit
def log_densities(posterior, z):
    return jax.vmap(jax.vmap(posterior))(z)


@dataclass(frozen=True)
class Conjugate(Method):
    density: bool = True

    def run(self, key, problem, progress):
        z = exact_draws(key, problem.series)
        posterior = Posterior(problem.prior, LevelLikelihood(jnp.asarray(problem.series)))
        log_density = np.asarray(log_densities(posterior.log_density, jnp.asarray(z)))
        return Outcome(z, log_density, 0, "drawn", [], posterior if self.density else None)


SETTING = (Level(), PRIOR, LENGTH)


def hook(**wrong):
    return lambda key, series: {"m": exact_draws(key, series, **wrong)}


def run(trials, seed=0, setting=SETTING, **options):
    options = {"posterior_draws": hook()} | options
    return run_trials(setting, None, trials, seed, num_draws=19, progress=False, **options)


@pytest.fixture(scope="module")
def right():
    """Trials of the exact posterior, by a method that is run anew for each."""
    return run_trials(SETTING, Conjugate(), 60, 0, num_draws=19, progress=False)


def smallest_p(trials):
    return min(rank_ecdf(values, trials.num_draws).p_value for values in trials.ranks().values())


def test_an_exact_method_has_uniform_ranks(right):
    found = right.ranks()
    assert list(found) == ["m[0]", "m[1]", "log density"]
    assert all(values.shape == (60,) for values in found.values())
    assert smallest_p(right) > 1e-3 / 3


def test_ranks_count_the_draws_below_the_truth(right):
    expected = [
        (row[:, 1] < truth[1]).sum() for row, truth in zip(right.draws, right.truth, strict=True)
    ]
    np.testing.assert_array_equal(right.ranks()["m[1]"], expected)


def test_the_density_ranks_are_those_of_the_distance(right):
    """A normal density falls with the distance from its mean, which the draws tell roughly."""
    mean = right.draws.mean(axis=1)
    far = np.linalg.norm(right.truth - mean, axis=1)
    assert np.corrcoef(far, right.density_ranks)[0, 1] < -0.6


@pytest.mark.parametrize("wrong", [{"shift": 0.8}, {"width": 0.5}, {"width": 2.5}])
def test_a_wrong_posterior_is_found(wrong):
    assert smallest_p(run(80, posterior_draws=hook(**wrong))) < 1e-3


def test_the_hook_and_a_method_meet_the_same_truths(right):
    found = run([7, 3], seed=0)
    np.testing.assert_array_equal(found.truth, right.truth[[7, 3]])
    np.testing.assert_array_equal(found.references, right.references[[7, 3]])
    assert found.density_ranks is None
    assert list(found.ranks()) == ["m[0]", "m[1]"]


def test_trials_mind_neither_order_nor_count(right):
    some = run_trials(SETTING, Conjugate(), [11, 4], 0, num_draws=19, progress=False)
    np.testing.assert_array_equal(some.numbers, [11, 4])
    for name in ("truth", "draws", "references", "density_ranks", "ess"):
        np.testing.assert_array_equal(getattr(some, name), getattr(right, name)[[11, 4]])
    other = run([11, 4], seed=2)
    assert not np.isclose(other.truth, some.truth).any()


def test_ranks_is_the_short_way(right):
    found = ranks(SETTING, Conjugate(), 2, 0, num_draws=19, progress=False)
    assert {name: values.tolist() for name, values in found.items()} == {
        name: values[:2].tolist() for name, values in right.ranks().items()
    }


def test_parts_join_to_the_whole():
    whole = run(5)
    joined = Trials.join([run([4, 1]), run([0, 2, 3])])
    for name, value in vars(whole).items():
        np.testing.assert_array_equal(getattr(joined, name), value)
    with pytest.raises(ValueError, match="A trial is in two parts"):
        Trials.join([whole, run([3])])


def test_a_density_in_some_parts_is_a_density_in_none(right):
    joined = Trials.join([right, replace(right, numbers=right.numbers + 500, density_ranks=None)])
    assert joined.density_ranks is None


def test_truths_and_references_are_prior_draws(right):
    for values in (right.truth, right.references):
        assert abs(values.mean()) < 4 / np.sqrt(120)
        assert abs(values.var() - 1) < 4 * np.sqrt(2 / 120)
    assert abs(np.corrcoef(right.truth.ravel(), right.references.ravel())[0, 1]) < 4 / np.sqrt(120)
    np.testing.assert_allclose(right.scale, 1.0, atol=0.1)


def test_a_series_that_failed_is_dropped():
    found = run(80, setting=(Level(ceiling=0.8), PRIOR, LENGTH))
    assert set(found.numbers.tolist()) | set(found.dropped) == set(range(80))
    rate = 1 - norm.cdf(0.8) ** 2
    assert abs(len(found.dropped) - 80 * rate) < 4 * np.sqrt(80 * rate * (1 - rate))
    assert found.truth.max() < 0.8


def test_no_series_at_all():
    with pytest.raises(ValueError, match="None of the 3 simulated series can be used: check the prior"):
        run(3, setting=(Level(ceiling=-10.0), PRIOR, LENGTH))


def test_thinning_spreads_over_all_chains():
    draws = np.arange(200.0).reshape(4, 50)
    np.testing.assert_array_equal(thin(draws, 8), [12, 37, 62, 87, 112, 137, 162, 187])
    np.testing.assert_array_equal(thin(draws, 200), draws.ravel())
    assert len(np.unique(thin(draws, 99))) == 99
    with pytest.raises(ValueError, match="There are 200 draws, 201 were asked for: lower num_draws"):
        thin(draws, 201)


def test_thinned_draws_of_a_slow_chain_are_nearly_independent():
    rng = np.random.default_rng(0)
    chain = np.zeros((1, 20_000))
    for t, noise in enumerate(rng.normal(size=19_999)):
        chain[0, t + 1] = 0.9 * chain[0, t] + noise
    kept = thin(chain, 400)
    assert abs(np.corrcoef(kept[1:], kept[:-1])[0, 1]) < 0.9**50 + 4 / np.sqrt(400)


@pytest.mark.parametrize("kind", ["correlated", "repeated"])
def test_too_few_effective_draws_are_told(kind):
    def draws(key, series):
        noise = np.random.default_rng(seed_of(key)).normal(size=(1, 200, 2))
        if kind == "correlated":
            return {"m": np.cumsum(noise, axis=1)}
        return {"m": noise[:, np.random.default_rng(0).integers(0, 10, 200)]}

    with pytest.warns(UserWarning, match="3 of 3 trials had fewer than 19 effective draws"):
        found = run(3, posterior_draws=draws)
    assert (found.ess < 19).all()


def test_one_of_method_and_hook():
    with pytest.raises(ValueError, match="Both method and posterior_draws are given"):
        run_trials(SETTING, Conjugate(), 1, posterior_draws=hook())


def test_a_method_without_a_density():
    found = run(2, posterior_draws=refit(Level(), PRIOR, Conjugate(density=False)))
    assert found.density_ranks is None


@pytest.mark.slow
def test_tsnl_on_a_setting():
    quick = TSNL(
        states=False,
        rounds=1,
        simulations=8,
        head=Mixture(num_components=2, width=2, depth=1),
        training=Training(num_members=2, min_steps=20, max_steps=20),
        sampler=MCMC(num_chains=4, num_warmup=80, num_draws=100, max_extensions=0),
    )
    found = run_trials(replace(LINEAR, length=15), quick, 2, 0, num_draws=9, progress=False)
    assert found.draws.shape == (2, 9, 1)
    assert list(found.ranks()) == ["Q", "log density"]
