from functools import cache
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import tsnl

# One table drives every invariant: name, distribution, labels.
TABLE = {
    "scalar": (dist.LogNormal(-1.2, 1.0), ["x"]),
    "interval": (dist.Uniform(-1.0, 3.0), ["x"]),
    "beta": (dist.Beta(2.0, 3.0), ["x"]),
    "real": (dist.StudentT(4.0, 1.0, 2.0), ["x"]),
    "half": (dist.HalfCauchy(1.0), ["x"]),
    "batch": (dist.LogNormal(np.array([0.0, 1.0]), 0.5), ["x[0]", "x[1]"]),
    "normal vector": (
        dist.MultivariateNormal(np.zeros(2), np.array([[1.0, 0.8], [0.8, 1.0]])),
        ["x[0]", "x[1]"],
    ),
    "matrix": (dist.Normal(np.zeros((2, 2)), 1.0), ["x[0,0]", "x[0,1]", "x[1,0]", "x[1,1]"]),
    "simplex": (dist.Dirichlet(np.array([1.0, 2.0, 3.0])), ["x[0]", "x[1]"]),
    "correlation": (dist.LKJ(3, 1.5), ["x[1,0]", "x[2,0]", "x[2,1]"]),
    "correlation factor": (dist.LKJCholesky(3, 1.5), ["x[1,0]", "x[2,0]", "x[2,1]"]),
    "covariance": (dist.Wishart(5.0, np.eye(2)), ["x[0,0]", "x[1,0]", "x[1,1]"]),
}
PRIORS = {name: tsnl.Prior(x=d) for name, (d, _) in TABLE.items()}
PRIORS["several"] = tsnl.Prior(
    {("a", "b"): dist.MultivariateNormal(np.zeros(2), np.eye(2))},
    Q=dist.LogNormal(0.0, 1.0),
    C=dist.LKJ(2, 1.0),
)
ALL = pytest.mark.parametrize("name", PRIORS)
LIKE_OTHERS = ("half", "batch", "matrix", "normal vector", "correlation factor")
SOME = pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in LIKE_OTHERS else ()) for n in PRIORS]
)


@cache
def compiled(name):
    """The prior's functions of z, compiled once for all examples (called in 64 bit)."""
    prior = PRIORS[name]

    return SimpleNamespace(
        again=jax.jit(lambda z: prior.unconstrain(prior.constrain(z))),
        jacobian=jax.jit(jax.jacobian(lambda z: prior.coordinates(prior.constrain(z)))),
        log_jacobian=jax.jit(prior.log_jacobian),
        log_prob=jax.jit(lambda z: prior.log_prob(prior.constrain(z))),
        log_prob_unconstrained=jax.jit(prior.log_prob_unconstrained),
    )


def vectors(name):
    return arrays(np.float64, PRIORS[name].size, elements=st.floats(-2.5, 2.5, width=32))


@pytest.mark.parametrize("name", TABLE)
def test_labels(name):
    assert list(PRIORS[name].labels) == TABLE[name][1]


@ALL
@given(data=st.data())
def test_round_trip(name, data):
    z = data.draw(vectors(name))
    with jax.enable_x64(True):
        again = compiled(name).again(z)
    np.testing.assert_allclose(again, z, atol=1e-6)


@ALL
@given(data=st.data())
def test_log_jacobian_is_that_of_the_free_entries(name, data):
    z = data.draw(vectors(name))
    with jax.enable_x64(True):
        expected = np.linalg.slogdet(np.asarray(compiled(name).jacobian(z)))[1]
        found = compiled(name).log_jacobian(z)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@ALL
@given(data=st.data())
def test_unconstrained_density_is_density_plus_jacobian(name, data):
    z, f = data.draw(vectors(name)), compiled(name)
    with jax.enable_x64(True):
        expected = f.log_prob(z) + f.log_jacobian(z)
        np.testing.assert_allclose(f.log_prob_unconstrained(z), expected, atol=1e-6)


@pytest.mark.parametrize("name", ["scalar", "interval", "beta", "real", "half"])
def test_unconstrained_density_integrates_to_one(name):
    with jax.enable_x64(True):
        grid = jnp.linspace(-60.0, 60.0, 200_001)
        density = jnp.exp(jax.jit(jax.vmap(PRIORS[name].log_prob_unconstrained))(grid[:, None]))
        total = jnp.trapezoid(density, grid)
    # Student's tail beyond 60 holds 1e-5 of the mass
    np.testing.assert_allclose(total, 1.0, atol=2e-5)


@SOME
def test_sample_shapes_and_support(name):
    prior = PRIORS[name]
    theta = jax.jit(prior.sample, static_argnums=1)(jax.random.key(0), 7)
    assert set(theta) == set(prior.names)
    assert prior.coordinates(theta).shape == (7, prior.size)
    prior.check({k: v[0] for k, v in theta.items()})
    assert jnp.isfinite(jax.jit(jax.vmap(prior.log_prob))(theta)).all()


def test_a_draw_does_not_depend_on_how_many_are_drawn():
    prior, key = tsnl.Prior(x=dist.LogNormal(), C=dist.LKJ(2)), jax.random.key(3)
    few, many = prior.sample(key, 3), prior.sample(key, 50)
    for name in prior.names:
        np.testing.assert_array_equal(few[name], many[name][:3])


def test_samples_follow_the_density():
    prior = PRIORS["scalar"]
    draws = np.log(np.asarray(prior.sample(jax.random.key(1), 20_000)["x"]))
    assert abs(draws.mean() + 1.2) < 4 / np.sqrt(20_000)
    assert abs(draws.std() - 1) < 4 / np.sqrt(2 * 20_000)


def test_joint_prior_splits_into_names():
    prior = tsnl.Prior({("a", "b"): dist.MultivariateNormal(np.zeros(2), 0.1 + 0.9 * np.eye(2))})
    assert prior.labels == ("a", "b")
    theta = prior.sample(jax.random.key(0), 4)
    assert theta["a"].shape == (4,)
    one = {k: v[0] for k, v in theta.items()}
    expected = dist.MultivariateNormal(np.zeros(2), 0.1 + 0.9 * np.eye(2)).log_prob(
        jnp.stack([one["a"], one["b"]])
    )
    np.testing.assert_allclose(prior.log_prob(one), expected, rtol=1e-6)


def test_works_inside_jit_and_grad():
    prior = PRIORS["several"]
    z = jnp.zeros(prior.size)
    value, gradient = jax.jit(jax.value_and_grad(prior.log_prob_unconstrained))(z)
    assert jnp.isfinite(value)
    assert jnp.all(jnp.isfinite(gradient))
    assert jnp.isfinite(jax.jit(lambda z: prior.log_prob(prior.constrain(z)))(z))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: tsnl.Prior(), ValueError, "empty"),
        (lambda: tsnl.Prior(n=dist.Poisson(3.0)), ValueError, "n is the discrete Poisson"),
        (lambda: tsnl.Prior(n=dist.Delta(np.ones(()))), ValueError, "discrete Delta"),
        (lambda: tsnl.Prior(Q=0.1), TypeError, "fixed value belongs in the model"),
        (
            lambda: tsnl.Prior({("a", "b"): dist.Normal(0.0, 1.0)}),
            ValueError,
            r"event shape \(\), expected \(2,\)",
        ),
        (
            lambda: tsnl.Prior({("a", "a"): dist.Normal(np.zeros(2), 1.0)}),
            ValueError,
            "two priors",
        ),
        (
            lambda: tsnl.Prior(x=dist.ImproperUniform(dist.constraints.real, (), ())),
            ValueError,
            "improper",
        ),
        (
            lambda: tsnl.Prior(beta=dist.Uniform(1.0, 0.0)),
            ValueError,
            "prior of beta is a Uniform between 1 and 0, where there is no value",
        ),
        (
            lambda: tsnl.Prior(x=dist.Uniform(np.zeros(2), np.array([1.0, 0.0]))),
            ValueError,
            "prior of x is a Uniform between 0 and 0",
        ),
        (
            lambda: tsnl.Prior(x=dist.TruncatedNormal(0.0, 1.0, low=2.0, high=1.0)),
            ValueError,
            "prior of x is a .* between 2 and 1",
        ),
        (lambda: tsnl.Prior(x=dist.LKJ(2000, 1.0)), ValueError, "at most 1,000,000 entries"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_priors(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("call", ["log_prob", "unconstrain"])
@pytest.mark.parametrize(
    ("theta", "message"),
    [
        ({"x": -1.0}, "x = -1.0 lies outside the support of its prior LogNormal"),
        ({"x": np.ones(2)}, r"shape \(2,\), expected \(\)"),
        ({"y": 1.0}, r"missing \['x'\], not in the prior \['y'\]"),
        ({"x": np.nan}, "outside the support"),
    ],
)
def test_bad_theta(call, theta, message):
    with pytest.raises(ValueError, match=message):
        getattr(PRIORS["scalar"], call)(theta)


def test_a_name_by_itself_is_one_name():
    assert tsnl.Prior({"beta": dist.Normal(0.0, 1.0)}).names == ("beta",)


def test_a_name_that_the_model_does_not_know():
    with pytest.raises(ValueError, match=r"no parameter \['x'\]; it has \['Q', 'R'\]"):
        PRIORS["scalar"].check_known(["Q", "R"])


def test_draws_on_the_border_of_the_support_are_drawn_again():
    class Hundredths(dist.Uniform):
        """A uniform law in few bits: one draw in a hundred is on the border."""

        def sample(self, key, sample_shape=()):
            return jnp.round(super().sample(key, sample_shape), 2)

    prior = tsnl.Prior(p=Hundredths(0.0, 1.0))
    theta = np.asarray(prior.sample(jax.random.key(0), 500)["p"])
    assert 0 < ((theta == 0) | (theta == 1)).sum() < 20
    z = prior.sample_unconstrained(jax.random.key(0), 500)[:, 0]
    assert np.isfinite(z).all()
    inside = (theta > 0) & (theta < 1)
    np.testing.assert_allclose(1 / (1 + np.exp(-z[inside])), theta[inside], rtol=1e-4)
