"""A head, a memory, a method and a simulator of the user's own: saved, loaded, resumed and reported."""

from dataclasses import dataclass, replace
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from jaxtyping import Array

import tsnl
from tsnl import MCMC, TSNL, Training
from tsnl.kernel import Head, Memory
from tsnl.methods.api import Method, Outcome
from tsnl.models import LinearGaussian
from tsnl.simulation import HostSimulator
from tsnl.store.codec import NotSavableError
from tsnl.store.registry import find_kind, register, registered

PRIOR = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
SERIES = LinearGaussian().simulate(seed=1, length=20)


class LineHead(Head):
    """y ~ N(w c + v theta + b, exp(s)^2)."""

    weights: Array
    slope: Array
    rest: Array

    def log_prob(self, y, features, theta):
        mean = self.weights @ features + self.slope @ theta + self.rest[0]
        return jnp.sum(jax.scipy.stats.norm.logpdf(y, mean, jnp.exp(self.rest[1] + theta[0] / 4)))

    def sample(self, key, features, theta):
        mean = self.weights @ features + self.slope @ theta + self.rest[0]
        return mean + jnp.exp(self.rest[1] + theta[0] / 4) * jax.random.normal(key, (1,))


@register
@dataclass(frozen=True)
class Line:
    scale: float = 0.01

    def make(self, key, d_y, groups, size):
        count = sum(len(group.mean_sd) for group in groups)
        return LineHead(self.scale * jax.random.normal(key, (count,)), jnp.zeros(size), jnp.zeros(2))


class DriftMemory(Memory):
    """An average whose rate is trained."""

    logit: Array
    d_y: int = eqx.field(static=True)

    def init(self):
        return jnp.zeros(self.d_y)

    def push(self, state, y, seen, u):
        rate = jax.nn.sigmoid(self.logit)
        return jnp.where(seen, rate * state + (1 - rate) * y, state)

    def features(self, state):
        return state


@register
@dataclass(frozen=True)
class Drift:
    start: float = 0.0

    def make(self, key, d_y, d_u):
        return DriftMemory(jnp.asarray(self.start) + 0.1 * jax.random.normal(key), d_y)


@register
@dataclass(frozen=True)
class FromPrior(Method):
    """Draws that have not looked at the data, after a few simulations."""

    num_draws: int = 50

    def run(self, key, problem, progress):
        z = problem.prior.sample_unconstrained(key, self.num_draws)
        made = problem.simulate(key, problem.prior.constrain_all(z[:8]))
        record = {"simulations": 8, "cost": made.cost}
        density = np.zeros((1, self.num_draws))
        return Outcome(z[None], density, made.cost, "drawn from the prior", [record])


@register
@dataclass(frozen=True)
class Walk(HostSimulator):
    """A simulator type of its own."""

    step: float = 0.3

    def one(self, rng, theta, length, inputs):
        noise = self.step * rng.normal(size=length) + np.sqrt(theta["Q"]) * rng.normal(size=length)
        return np.cumsum(noise) * 0.5


@register
class Drifting(LinearGaussian):
    """A state-space model of the user's own."""


QUICK = TSNL(
    states=False,
    rounds=2,
    simulations=8,
    head=Line(),
    memory=(Drift(),),
    training=Training(num_members=2, min_steps=60, max_steps=60),
    sampler=MCMC(num_chains=4, num_warmup=100, num_draws=150, max_extensions=0),
)
OWN = {
    "head and memory": (LinearGaussian(), QUICK),
    "method": (LinearGaussian(), FromPrior()),
    "host simulator": (Walk(step=0.2), FromPrior(20)),
    "model": (Drifting(A=0.8), FromPrior(20)),
}
ALL = pytest.mark.parametrize("name", OWN)


@cache
def run(name):
    model, method = OWN[name]
    return tsnl.infer(model, PRIOR, SERIES, method, seed=0, progress=False)


@ALL
def test_saved_and_loaded(name, tmp_path):
    run(name).save(tmp_path)
    again = tsnl.load(tmp_path)
    np.testing.assert_array_equal(again.draws["Q"], run(name).draws["Q"])
    assert again.method == run(name).method
    assert type(again.problem.model) is type(OWN[name][0])
    theta = {"Q": np.full(3, 0.2)}
    ours, theirs = (
        p.simulate(jax.random.key(0), theta).series for p in (run(name).problem, again.problem)
    )
    np.testing.assert_array_equal(ours, theirs)
    if again.posterior is not None:
        one, two = (r.posterior.log_prob({"Q": 0.3}) for r in (again, run(name)))
        np.testing.assert_array_equal(one, two)
        assert again.posterior.kernel.spec == run(name).posterior.kernel.spec


@ALL
def test_resumed(name, tmp_path):
    model, method = OWN[name]
    folder = tmp_path / "run"
    tsnl.infer(model, PRIOR, SERIES, method, seed=0, folder=folder, progress=False)
    (folder / "result.json").unlink()
    for last in sorted((folder / "rounds").glob("0002.*")):
        last.unlink()
    again = tsnl.infer(model, PRIOR, SERIES, method, seed=0, folder=folder, resume=True, progress=False)
    np.testing.assert_array_equal(again.draws["Q"], run(name).draws["Q"])
    assert tsnl.load(folder).method == method


@pytest.mark.slow
@ALL
def test_checked_and_reported(name, tmp_path):
    checks = run(name).check(num_replicates=99, refit=False)
    path = run(name).report(tmp_path / "report.html", checks=checks)
    text = path.read_text()
    assert type(OWN[name][1]).__name__ in text
    assert type(OWN[name][0]).__name__ in text


def test_a_trained_memory_streams_and_forecasts():
    result = run("head and memory")
    rows = LinearGaussian().simulate(seed=1, length=22)
    stream = result.posterior.update(rows[20:], num_particles=100)
    whole = result.posterior.given((rows.astype(float),))
    z = jnp.asarray(result.posterior.z[0, 0])
    np.testing.assert_allclose(stream.posterior(z), whole(z), rtol=1e-5)
    kernel = result.posterior.kernel
    fresh = kernel.remember(rows, np.zeros((22, 0)))
    for a, b in zip(jax.tree.leaves(stream.memory), jax.tree.leaves(fresh), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
    assert np.isfinite(result.forecast(5, seed=0, num_draws=20).draws).all()
    rates = jax.nn.sigmoid(kernel.members.memory.parts[-1].logit)
    assert rates.shape == (2,)
    assert (np.abs(np.asarray(rates) - 0.5) > 0.01).all()  # training moved it


@dataclass(frozen=True)
class Unregistered(Line):
    pass


@pytest.mark.parametrize("place", ["head", "memory"])
def test_what_cannot_be_saved_is_refused_before_any_file_is_written(place, tmp_path):
    @dataclass(frozen=True)
    class Lost(Drift):
        pass

    changed = {"head": Unregistered()} if place == "head" else {"memory": (Lost(),)}
    method = replace(QUICK, **changed)
    result = replace(run("head and memory"), method=method)
    for call in (
        lambda folder: result.save(folder),
        lambda folder: tsnl.infer(LinearGaussian(), PRIOR, SERIES, method, seed=0, folder=folder),
    ):
        with pytest.raises(NotSavableError, match=r"has no plain form .* @tsnl.register"):
            call(tmp_path / "run")
        assert not (tmp_path / "run").exists()


def test_registering():
    assert registered(Line())
    assert not registered(Unregistered())
    assert find_kind("Line") is Line
    assert register(Line) is Line  # again, as when a notebook's cell runs twice
    with pytest.raises(ValueError, match="unknown class 'Nothing': import the module that registers"):
        find_kind("Nothing")
    with pytest.raises(TypeError, match="is no dataclass"):
        register(int)

    @dataclass(frozen=True)
    class Mixture:
        pass

    with pytest.raises(ValueError, match="registered under the name 'Mixture' already: rename"):
        register(Mixture)
