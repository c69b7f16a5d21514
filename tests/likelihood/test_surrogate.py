import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from tsnl.kernel import TRANSFORMS, Density, Kernel, Region, Scaling
from tsnl.kernel.memory import Past, Windows
from tsnl.likelihood import surrogate
from tsnl.likelihood.surrogate import SurrogateLikelihood


class Line(Density):
    """N(y | a lag + theta, 1), one of each member's a."""

    lag: Array

    def log_prob(self, y, context, theta):
        mean = self.lag * context.lags[0] + 0.1 * context.far[: y.shape[0]] + theta[0]
        return jax.scipy.stats.norm.logpdf(y, mean).sum()

    def sample(self, key, context, theta):
        raise NotImplementedError


def kernel(transform="none", d_y=1):
    scaling = Scaling(
        jnp.full(d_y, 2.0), jnp.full(d_y, 0.3), jnp.full(d_y, 0.8),
        jnp.array([1.0]), jnp.array([0.5]), transform,
    )  # fmt: skip
    past = Past(2, (0.7,))
    return Kernel(Line(jnp.array([0.5, 0.9])), scaling, past, Region.unknown(1, past))


SERIES = np.random.default_rng(0).normal(size=(11, 2)).astype(np.float32)
Z = jnp.array([0.7])


factors = eqx.filter_jit(lambda likelihood: likelihood.factors(Z))
value = eqx.filter_jit(lambda likelihood: likelihood(Z))


def test_sum_of_the_factors_one_by_one():
    made = kernel("asinh", 2)
    likelihood = SurrogateLikelihood.of(made, jnp.asarray(SERIES))
    v = made.scaling.standardise(jnp.asarray(SERIES))
    windows = Windows.of(v[None], jnp.ones((1, 11, 2), bool), made.past)
    theta = made.scaling.standardise_z(Z)
    y, context = windows.take(jnp.zeros(11, int), jnp.arange(11))
    expected = []
    for t in range(11):
        here = jax.tree.map(lambda x, t=t: x[t], context)
        members = [Line(a).log_prob(y[t], here, theta) for a in (0.5, 0.9)]
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
    density = jax.jit(jax.vmap(lambda y: SurrogateLikelihood.of(made, y[None, None])(Z)))
    total = np.trapezoid(np.exp(np.asarray(density(jnp.asarray(grid, dtype=float)))), grid)
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
