"""One small run whose names are hostile, and its report."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl import MCMC, TSNL, Training
from tsnl.checks import Report, Verdict
from tsnl.kernel import Mixture

SCRIPT, IMAGE = "<script>alert(1)</script>", '$x$"><img src=x onerror=alert(2)>'
NAME = SCRIPT + IMAGE
TITLE = f"{SCRIPT} & {IMAGE}"
# Of the same shapes as in the tests of the checks: compiled once for both.
QUICK = TSNL(
    states=False,
    rounds=2,
    simulations=8,
    head=Mixture(num_components=2, width=4, depth=1),
    training=Training(num_members=2, min_steps=60, max_steps=60),
    sampler=MCMC(num_chains=4, num_warmup=100, num_draws=150, max_extensions=0),
)


class Hostile(tsnl.StateSpaceModel):
    """A random walk with a name that no field can have; it fails after a while where that is large."""

    @property
    def parameters(self):
        return {NAME: 0.5}

    def sample_initial(self, key, theta):
        return jnp.zeros(())

    def sample_transition(self, key, state, theta, t, u):
        state = 0.8 * state + theta[NAME] * jax.random.normal(key)
        return jnp.where((t > 10) & (theta[NAME] > 0.8), jnp.nan, state)

    def sample_observation(self, key, state, theta, t, u):
        return state + 0.3 * jax.random.normal(key)


CHECKS = Report(
    [
        Verdict("one step ahead", "pass", "The rows fall where they should.", "", {}),
        Verdict("lag", "look", f"Look at {SCRIPT}.", "Raise lag to 8.", {}),
        Verdict("replicates", "fail", "Series differ in the mean.", f"Change {IMAGE}.", {}),
    ],
    cost=1234,
)


@pytest.fixture(scope="session")
def given():
    """What the run and its report were given."""
    return SimpleNamespace(names=(NAME,), title=TITLE, checks=CHECKS, method=QUICK)


@pytest.fixture(scope="session")
def result():
    model = Hostile()
    prior = tsnl.Prior(**{NAME: dist.LogNormal(-1.0, 1.0)})
    series = model.simulate(seed=1, length=20)
    return tsnl.infer(model, prior, series, QUICK, seed=0, progress=False)


@pytest.fixture(scope="session")
def path(result, tmp_path_factory):
    """The report of it, with verdicts of all three kinds."""
    where = tmp_path_factory.mktemp("report") / "deep" / "report.html"
    return result.report(where, checks=CHECKS, title=TITLE)
