from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from tsnl.kernel import TRANSFORMS, Decays, Head, Kernel, KernelSpec, Lags, Region, Scaling
from tsnl.kernel.member import first_of, fresh_members
from tsnl.likelihood import surrogate
from tsnl.likelihood.surrogate import SurrogateLikelihood


class Line(Head):
    """N(y | a lag + theta, 1), one of each member's a."""

    lag: Array

    def log_prob(self, y, features, theta):
        d_y = y.shape[0]
        lag, far = features[:d_y], features[4 * d_y : 5 * d_y]  # two lags and their marks, averages
        return jax.scipy.stats.norm.logpdf(y, self.lag * lag + 0.1 * far + theta[0]).sum()

    def sample(self, key, features, theta):
        raise NotImplementedError


@dataclass(frozen=True)
class Lines:
    def make(self, key, d_y, groups, size):
        return Line(jnp.zeros(()))


def kernel(transform="none", d_y=1):
    scaling = Scaling(
        jnp.full(d_y, 2.0), jnp.full(d_y, 0.3), jnp.full(d_y, 0.8),
        jnp.array([1.0]), jnp.array([0.5]), transform,
    )  # fmt: skip
    spec = KernelSpec(Lines(), (Lags(2), Decays((0.7,))), d_y, 0, 1, num_members=2)
    members = eqx.tree_at(lambda m: m.head.lag, fresh_members(jax.random.key(0), spec), LAGS)
    return Kernel(members, scaling, Region.unknown(d_y, spec.groups()), spec)


LAGS = jnp.array([0.5, 0.9])
SERIES = np.random.default_rng(0).normal(size=(11, 2)).astype(np.float32)
Z = jnp.array([0.7])


factors = eqx.filter_jit(lambda likelihood: likelihood.factors(Z))
value = eqx.filter_jit(lambda likelihood: likelihood(Z))


def test_sum_of_the_factors_one_by_one():
    made = kernel("asinh", 2)
    likelihood = SurrogateLikelihood.of(made, jnp.asarray(SERIES))
    y = made.scaling.standardise(jnp.asarray(SERIES))
    theta = made.scaling.standardise_z(Z)
    memory, seen, u = first_of(made.members).memory, jnp.ones(2, bool), jnp.zeros(0)
    state, expected = memory.init(), []
    for t in range(11):
        here = memory.features(state)
        members = [Line(a).log_prob(y[t], here, theta) for a in LAGS]
        state = memory.push(state, y[t], seen, u)
        log_jacobian = made.scaling.log_jacobian(jnp.asarray(SERIES[t])).sum()
        expected.append(np.log(np.mean(np.exp(members))) + log_jacobian)
    np.testing.assert_allclose(factors(likelihood), expected, rtol=1e-4)
    np.testing.assert_allclose(np.sum(factors(likelihood)), value(likelihood), rtol=1e-5)


@pytest.mark.parametrize("size", [1, 4, 11, 12])
def test_blocks_change_nothing(monkeypatch, size):
    likelihood = SurrogateLikelihood.of(kernel("none", 2), jnp.asarray(SERIES))
    whole, slope = jax.jit(jax.value_and_grad(likelihood))(Z)
    monkeypatch.setattr(surrogate, "BLOCK", size)
    blocks, again = jax.jit(jax.value_and_grad(likelihood))(Z)
    np.testing.assert_allclose(blocks, whole, rtol=1e-5)
    np.testing.assert_allclose(again, slope, rtol=1e-4)
    assert jax.eval_shape(likelihood.factors, Z).shape == (11,)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_integrates_to_one_in_the_users_units(transform):
    """The density of a series of one row."""
    made = kernel(transform)
    grid = np.sinh(np.linspace(-14, 14, 20_001)) / 1e3
    rows = grid.astype(np.float32)[:, None, None]  # a panel of so many series
    density = np.exp(np.asarray(factors(SurrogateLikelihood.of(made, *rows)), dtype=float))
    total = np.trapezoid(density, grid)
    np.testing.assert_allclose(total, 1, atol=1e-3)


@pytest.mark.parametrize(
    ("transform", "fields"), [("none", ("y_mean", "y_scale")), ("asinh", ("unit",))]
)
def test_the_unit_of_y_is_bookkeeping(transform, fields):
    """The same density read off in other units: ten times y costs log 10 for each entry."""
    made = kernel(transform)
    where = lambda k: [getattr(k.scaling, f) for f in fields]  # noqa: E731
    other = eqx.tree_at(where, made, [10 * x for x in where(made)])
    y = jnp.asarray(SERIES[:, :1])
    a, b = (value(SurrogateLikelihood.of(k, x)) for k, x in ((made, y), (other, 10 * y)))
    np.testing.assert_allclose(a, b + 11 * np.log(10), rtol=1e-4)


def test_missing_rows_do_not_count():
    gappy = SERIES.copy()
    gappy[4] = np.nan
    found, whole = (
        factors(SurrogateLikelihood.of(kernel("none", 2), jnp.asarray(y))) for y in (gappy, SERIES)
    )
    assert found[4] == 0
    np.testing.assert_allclose(found[:4], whole[:4], rtol=1e-6)
    assert jnp.isfinite(found).all()


def test_the_future_does_not_matter():
    short, whole = (
        factors(SurrogateLikelihood.of(kernel("none", 2), jnp.asarray(y))) for y in (SERIES[:5], SERIES)
    )
    np.testing.assert_allclose(short, whole[:5], rtol=1e-5)
