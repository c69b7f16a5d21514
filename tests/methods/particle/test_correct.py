"""The correction of a wrong posterior, against quadrature with the Kalman likelihood."""

from dataclasses import replace
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from paper.problems import linear_reference
from tsnl import Correct, DelayedPMMH
from tsnl.checks.correction import correctable
from tsnl.checks.uniformity import rank_ecdf
from tsnl.likelihood.target import has_target
from tsnl.methods.api import Outcome
from tsnl.methods.particle.correct import fresh
from tsnl.methods.particle.kernel_error import kernel_error
from tsnl.methods.particle.second import BEFORE
from tsnl.models import LinearGaussian, StochasticVolatility
from tsnl.posterior import Posterior
from tsnl.problem import Problem
from tsnl.result import Result
from tsnl.runtime.progress import Silent
from tsnl.store.folder import RunFolder
from tsnl.store.registry import register

PRIOR = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
SERIES = LinearGaussian().simulate(seed=1, length=20).astype(float)
GRID = np.linspace(-9, 5, 1401)


class Learned(eqx.Module):
    """Stands for a learned likelihood, such that the posterior of z is N(mean, sd^2)."""

    mean: jax.Array
    sd: jax.Array

    def __call__(self, z):
        wanted = -0.5 * jnp.sum((z - self.mean) ** 2) / self.sd**2 - jnp.log(self.sd)
        return wanted + 3.0 - PRIOR.log_prob_unconstrained(z)


@register
class Plain(tsnl.StateSpaceModel):
    """The linear model, not known to be linear."""

    Q: float = 0.1

    def sample_initial(self, key, theta):
        return jax.random.normal(key)

    def sample_transition(self, key, state, theta, t, u):
        return 0.9 * state + jnp.sqrt(theta["Q"]) * jax.random.normal(key)

    def sample_observation(self, key, state, theta, t, u):
        return state + jnp.sqrt(0.1) * jax.random.normal(key)

    def log_observation(self, y, state, theta, t, u):
        return -0.5 * (y - state) ** 2 / 0.1 - 0.5 * jnp.log(2 * jnp.pi * 0.1)


@cache
def exact():
    """Mean and sd of z, and the log-evidence."""
    log_p = linear_reference(Problem.of(LinearGaussian(), PRIOR, SERIES), GRID)
    weights = np.exp(log_p - log_p.max())
    log_evidence = np.log(np.trapezoid(weights, GRID)) + log_p.max()
    weights /= weights.sum()
    mean = weights @ GRID
    return mean, np.sqrt(weights @ (GRID - mean) ** 2), log_evidence


def result(model=None, shift=0.7, ratio=0.9, series=SERIES):
    """As a first method would leave it: off by a part of the exact sd, and of another sd."""
    mean, sd, _ = exact()
    learned = Learned(jnp.asarray(mean + shift * sd), jnp.asarray(ratio * sd))
    z = np.random.default_rng(5).normal(learned.mean, learned.sd, size=(4, 500, 1)).astype(np.float32)
    problem = Problem.of(model or Plain(), PRIOR, series)
    posterior = Posterior(PRIOR, learned, problem.panel)
    outcome = Outcome(z, np.zeros((4, 500)), 100, "finished", [{"simulations": 5}], posterior)
    return Result.of(problem, tsnl.TSNL(), outcome, 0)


METHOD = Correct(num_particles=100, num_draws=256)


@cache
def corrected():
    return result().correct(METHOD, seed=1, progress=False)


def close(found, size, slack=1.0):
    """Mean and sd of z are those of the exact posterior, within the error of so many draws."""
    z, (mean, sd, _) = np.log(found.draws["Q"]), exact()
    assert abs(z.mean() - mean) < slack * 4.5 * sd / size**0.5
    assert abs(np.log(z.std() / sd)) < slack * 4.5 / (2 * size) ** 0.5


def test_comes_to_the_exact_posterior():
    found = corrected()
    last = found.history[-1]
    assert found.draws["Q"].shape == found.log_density.shape == (1, 256)
    assert last["k_hat"] < 0.7
    assert 50 < last["ess"] < 256
    close(found, last["ess"], slack=1.2)
    assert abs(last["log_evidence"] - exact()[2]) < 4.5 * last["log_evidence_se"]
    assert 0.3 < last["mean_shift"] < 1.1
    assert found.cost == 100 + 20 * 100 * (32 + 256)
    assert found.history[:-1] == [{"simulations": 5}]
    assert found.status.startswith("corrected: 256 draws weighed by filters of 100 particles, variance")
    assert "k-hat" in found.status
    assert f"used {found.cost - 100:,} calls of the dynamics" in found.status
    assert found.method == replace(METHOD, first=tsnl.TSNL())
    np.testing.assert_array_equal(found.arrays[BEFORE], result().unconstrained())


def test_chains_that_are_too_short_go_on():
    """Forty copies of each draw are worth a fortieth of them: the proposal needs more."""
    base = result()
    z = np.repeat(base.unconstrained()[:, :50], 40, axis=1)
    draft = Outcome(z, np.zeros(z.shape[:2]), 0, "", [], base.posterior)
    pool = fresh(jax.random.key(0), draft, 600)
    assert len(np.unique(pool)) > 1000
    sd = float(base.posterior.likelihood.sd)
    assert abs(pool.mean() - float(base.posterior.likelihood.mean)) < 4.5 * sd / 600**0.5
    draft = replace(draft, z=base.unconstrained(), log_density=np.zeros((4, 500)))
    assert len(fresh(jax.random.key(0), draft, 600)) == 2000  # enough already


def test_a_linear_model_costs_nothing():
    found = result(LinearGaussian()).correct(seed=1, progress=False)
    last = found.history[-1]
    assert found.cost == 100
    assert last["num_particles"] == 0
    assert "weighed by the exact likelihood" in found.status
    close(found, last["ess"], slack=1.2)
    assert abs(last["log_evidence"] - exact()[2]) < 4.5 * last["log_evidence_se"]


def test_uneven_weights_are_moved():
    """Three sds away: few draws have all the weight at first, and chains mend what is left."""
    hard = replace(METHOD, min_ess=10_000, num_moves=300)
    found = result(shift=3.0, ratio=0.5).correct(hard, seed=1, progress=False)
    last = found.history[-1]
    assert last["draws"] == 512
    assert found.draws["Q"].shape == (8, 240)
    assert "the weights were uneven, so 8 chains moved on 300 steps each" in found.status
    close(found, last["chain_ess"], slack=1.2)
    still = replace(hard, num_moves=0)
    found = result(shift=3.0, ratio=0.5).correct(still, seed=1, progress=False)
    assert "the weights are uneven and num_moves is 0: do not rely" in found.status


def test_delayed_acceptance_is_exact():
    method = DelayedPMMH(num_particles=100, num_steps=400, num_chains=8)
    found = result().correct(method, seed=1, progress=False)
    last = found.history[-1]
    assert found.draws["Q"].shape == (8, 400)
    assert found.cost <= 100 + 20 * 100 * (32 + 64 + 8 * 450)
    assert last["ess"] > 300
    close(found, last["ess"])
    assert found.status.startswith("finished: 8 chains of 400 steps with 100 particles, variance of the")
    assert BEFORE in found.arrays


def test_the_same_seed_gives_the_same_bits():
    again = result().correct(METHOD, seed=1, progress=False)
    np.testing.assert_array_equal(again.draws["Q"], corrected().draws["Q"])
    other = result().correct(METHOD, seed=2, progress=False)
    assert not np.array_equal(other.draws["Q"], again.draws["Q"])


@pytest.mark.parametrize("kept", [2, pytest.param(6, marks=pytest.mark.slow)])
def test_resumes_to_the_same_bits(tmp_path, kept):
    """Cut off after so many blocks: what is there is not made again."""
    method, folder = replace(METHOD, min_ess=10_000, num_moves=120), tmp_path / "run"
    whole = result().correct(method, seed=1, folder=folder, progress=False)
    (folder / "result.json").unlink()
    blocks = sorted((folder / "blocks").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    for place in blocks[kept:]:
        place.unlink()
    times = {place: place.stat().st_mtime_ns for place in blocks[:kept]}
    again = result().correct(method, seed=1, folder=folder, resume=True, progress=False)
    np.testing.assert_array_equal(again.draws["Q"], whole.draws["Q"])
    assert (again.cost, again.status) == (whole.cost, whole.status)
    assert all(place.stat().st_mtime_ns == time for place, time in times.items())
    assert result().correct(method, seed=1, folder=folder, resume=True).status == whole.status
    with pytest.raises(FileExistsError, match="holds a run already"):
        result().correct(method, seed=1, folder=folder)
    for _ in ("finished", "cut off"):
        with pytest.raises(ValueError, match="holds a run with another result to correct"):
            result(shift=0.2).correct(method, seed=1, folder=folder, resume=True, progress=False)
        with pytest.raises(ValueError, match="holds a run with another result to correct"):
            RunFolder.open(folder, whole.problem, whole.method, 1, resume=True)  # as by infer
        (folder / "result.json").unlink(missing_ok=True)


def test_a_budget_means_fewer_draws():
    found = result().correct(replace(METHOD, max_cost=20 * 100 * 150), seed=1, progress=False)
    assert found.cost - 100 == 20 * 100 * 150
    assert found.history[-1]["draws"] == 118
    assert "118 draws weighed by filters of 100 particles (the budget did not allow 256)" in found.status
    assert "of 300,000 allowed" in found.status
    broke = replace(METHOD, max_cost=20 * 100 * 150, min_ess=1000)
    found = result().correct(broke, seed=1, progress=False)
    assert "the weights are uneven and no budget was left to move them" in found.status
    with pytest.raises(ValueError, match=r"max_cost is 1,000, which pays for 0 runs.*at least 100"):
        result().correct(replace(METHOD, max_cost=1000), seed=1)


def test_missing_rows():
    series = SERIES.copy()
    series[3:5] = np.nan
    found = result(series=series).correct(METHOD, seed=1, progress=False)
    assert np.isfinite(found.log_density).all()
    model = StochasticVolatility()
    partly = model.simulate(seed=0, length=20).astype(float)
    partly[7, 1] = np.nan
    base = result()
    problem = Problem.of(model, PRIOR, partly)
    posterior = replace(base.posterior, panel=problem.panel)
    with pytest.raises(ValueError, match="Row 7 of the series is missing only in part"):
        replace(base, problem=problem, posterior=posterior).correct(METHOD, seed=1)


def test_what_cannot_be_corrected_is_named():
    base = result()
    black_box = Problem.of(lambda rng, theta: rng.normal(size=20), PRIOR, SERIES)
    with pytest.raises(TypeError, match="A BlackBox only gives series: it has no laws"):
        replace(base, problem=black_box).correct(METHOD, seed=1)
    with pytest.raises(TypeError, match="come without a posterior density to weigh them by"):
        replace(base, posterior=None).correct(METHOD, seed=1)
    with pytest.raises(ValueError, match="corrected already"):
        corrected().correct(METHOD, seed=1)
    other = replace(base.problem, panel=(SERIES[::-1].copy(),))
    with pytest.raises(ValueError, match="of another series than the question"):
        replace(base, problem=other).correct(METHOD, seed=1)


def test_how_far_a_kernels_evidence_is_off():
    """The stand-in's own evidence is known: exp(3) times that of an unnormalised normal density."""
    base, wrong = result(shift=0.3, ratio=1.0), 3.0 + 0.5 * np.log(2 * np.pi) - exact()[2]
    given = (base.problem, base.posterior, base.unconstrained(), 64)
    found = kernel_error(jax.random.key(0), *given)
    assert found.num_particles == 100
    assert abs(found.nats - wrong) < 4.5 * found.se
    assert found.se < 0.3
    assert found.matters
    assert "by 64 filter runs it is" in str(found)
    away = result(shift=40.0)
    given = (away.problem, away.posterior, away.unconstrained(), 32)
    assert "cannot be told by 32 filter runs" in str(kernel_error(jax.random.key(0), *given))


def test_a_series_without_a_target_is_not_offered_a_correction():
    base = result()
    assert has_target(base.problem)
    assert not has_target(Problem.of(lambda rng, theta: rng.normal(size=20), PRIOR, SERIES))
    model = StochasticVolatility()
    partly = model.simulate(seed=0, length=20).astype(float)
    partly[7, 1] = np.nan
    assert not has_target(Problem.of(model, PRIOR, partly))
    partly[7] = np.nan
    assert has_target(Problem.of(model, PRIOR, partly))


class NoDensity(tsnl.StateSpaceModel):
    """It only simulates."""

    Q: float = 0.1

    def sample_initial(self, key, theta):
        return jax.random.normal(key)

    def sample_transition(self, key, state, theta, t, u):
        return state

    def sample_observation(self, key, state, theta, t, u):
        return state


def test_a_model_without_densities_is_refused_and_the_draws_are_kept():
    base = result(NoDensity())
    with pytest.raises(TypeError, match="NoDensity has no log_observation"):
        base.correct(METHOD, seed=1)
    assert base.status == "finished"
    assert not correctable(base)


def test_one_draw_with_all_the_weight_is_told(tmp_path):
    """Thirty sds away and far too sure: nothing of the proposal is where the posterior is."""
    method = replace(METHOD, num_particles="auto", num_moves=0)
    base = result(LinearGaussian(), shift=30.0, ratio=0.02)
    found = base.correct(method, seed=1, progress=False)
    last = found.history[-1]
    assert last["ess"] < 3
    assert last["k_hat"] > 0.7
    assert not last["reliable"]
    assert "the weights are uneven and num_moves is 0: do not rely on these draws" in found.status
    assert "a part of it may be missing" in found.evidence().note
    assert found.check(num_replicates=0)["correction"].verdict == "look"
    np.testing.assert_array_equal(found.arrays[BEFORE], base.unconstrained())
    found.save(tmp_path)
    assert tsnl.load(tmp_path).history[-1]["k_hat"] == last["k_hat"]


class Blind(Plain):
    """Nothing can be observed."""

    def log_observation(self, y, state, theta, t, u):
        return jnp.asarray(-jnp.inf)


def test_filters_that_collapse_are_an_error():
    with pytest.raises(FloatingPointError, match="All 64 filters of 100 particles at the draws coll"):
        result(Blind()).correct(replace(METHOD, num_draws=64), seed=1)


def test_a_panel_is_weighed_together():
    """Twice the same series is half the variance."""
    base = result()
    problem = Problem.of(LinearGaussian(), PRIOR, [SERIES, SERIES])
    both = replace(base, problem=problem, posterior=replace(base.posterior, panel=problem.panel))
    found = both.correct(seed=1, progress=False)
    log_p = linear_reference(Problem.of(LinearGaussian(), PRIOR, SERIES), GRID)
    prior = np.asarray(jax.vmap(PRIOR.log_prob_unconstrained)(jnp.asarray(GRID)[:, None]))
    weights = np.exp(2 * log_p - prior - (2 * log_p - prior).max())
    mean = weights @ GRID / weights.sum()
    sd = np.sqrt(weights @ (GRID - mean) ** 2 / weights.sum())
    assert abs(np.log(found.draws["Q"]).mean() - mean) < 4.5 * sd / found.history[-1]["ess"] ** 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_draws": 3}, "num_draws is 3, expected at least 50"),
        ({"num_particles": 1}, "num_particles is 1"),
        ({"defensive": 0.0}, "defensive is 0.0"),
        ({"max_cost": 0}, "max_cost is 0"),
        ({"num_moves": -1}, "num_moves is -1"),
        ({"first": Correct()}, "first is a Correct, which is exact already"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        Correct(**options)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seed": -1}, "seed is -1, expected a non-negative integer"),
        ({"seed": 1, "folder": ""}, "folder is empty"),
    ],
)
def test_arguments_are_checked(given, message):
    with pytest.raises(ValueError, match=message):
        result().correct(METHOD, **given)


def test_saves_and_loads(tmp_path):
    corrected().save(tmp_path)
    again = tsnl.load(tmp_path)
    assert again.method == corrected().method
    np.testing.assert_array_equal(again.draws["Q"], corrected().draws["Q"])
    for name, value in corrected().arrays.items():
        np.testing.assert_array_equal(again.arrays[name], value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [
        Correct(num_particles=60, num_draws=192, min_ess=40, num_chains=4),
        DelayedPMMH(num_particles=60, num_steps=80, num_warmup=10),
    ],
    ids=lambda method: type(method).__name__,
)
def test_ranks_are_uniform(method):
    """Truths of the prior, among draws that came from posteriors off by a random part of an sd."""
    rng, found = np.random.default_rng(0), []
    for i in range(100):
        theta = PRIOR.sample(jax.random.key(i))
        series = LinearGaussian().simulate(seed=1000 + i, length=20, theta=theta).astype(float)
        log_p = linear_reference(Problem.of(LinearGaussian(), PRIOR, series), GRID)
        weights = np.exp(log_p - log_p.max()) / np.exp(log_p - log_p.max()).sum()
        mean = weights @ GRID
        sd = np.sqrt(weights @ (GRID - mean) ** 2) * rng.uniform(0.7, 1.4)
        learned = Learned(jnp.asarray(mean + sd * rng.normal()), jnp.asarray(sd))
        z = rng.normal(learned.mean, learned.sd, size=(1, 1000, 1)).astype(np.float32)
        problem = Problem.of(Plain(), PRIOR, series)
        draft = Outcome(z, np.zeros((1, 1000)), 0, "", [], Posterior(PRIOR, learned, problem.panel))
        outcome = method.improve(jax.random.key(i), problem, draft, Silent())
        flat = outcome.z.ravel()
        among = flat[np.linspace(0, len(flat) - 1, 19).astype(int)]
        found.append(int((among < np.log(float(theta["Q"]))).sum()))
    assert rank_ecdf(np.array(found), 19).p_value > 0.001


class Listener(Silent):
    def __init__(self):
        self.told = []

    def start(self, title, total):
        self.title, self.total = title, total

    def now(self, done, text):
        self.told.append((done, text))


def test_progress_is_told():
    base, listener = result(), Listener()
    draft = Outcome(base.unconstrained(), base.log_density, 0, "", [], base.posterior)
    METHOD.improve(jax.random.key(1), base.problem, draft, listener)
    assert (listener.title, listener.total) == ("Correct", 256)
    assert listener.told[0][1].startswith("weigh with 100 particles")
    assert listener.told[-1][0] == 256
