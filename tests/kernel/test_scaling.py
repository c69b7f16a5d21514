import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tsnl.kernel import TRANSFORMS, Scaling, fit_scaling

ALL = pytest.mark.parametrize("transform", TRANSFORMS)


def scaling(transform):
    return Scaling(
        jnp.array([0.5, 3.0]), jnp.array([0.1, -2.0]), jnp.array([0.7, 4.0]),
        jnp.array([1.0, 0.0, -1.0]), jnp.array([0.1, 1.0, 10.0]), transform,
    )  # fmt: skip


SCALINGS = {t: scaling(t) for t in TRANSFORMS}
FORWARD = {t: jax.jit(lambda y, t=t: SCALINGS[t].standardise(y)) for t in TRANSFORMS}
BACK = {t: jax.jit(lambda y, t=t: SCALINGS[t].restore(y)) for t in TRANSFORMS}
LOG_JACOBIAN = {t: jax.jit(lambda y, t=t: SCALINGS[t].log_jacobian(y)) for t in TRANSFORMS}
BY_AUTODIFF = {t: jax.jit(jax.jacobian(FORWARD[t])) for t in TRANSFORMS}
RANGE = {"none": (-60, 60), "asinh": (-1e4, 1e4), "log": (0.125, 1e4), "logit": (0.0625, 0.9375)}


def values(transform):
    """Rows that a transform is for, nowhere at the limit."""
    return arrays(np.float32, 2, elements=st.floats(*RANGE[transform], width=32))


@ALL
@given(data=st.data())
def test_round_trip(transform, data):
    y = data.draw(values(transform))
    again = BACK[transform](FORWARD[transform](y))
    np.testing.assert_allclose(again, y, rtol=1e-4, atol=1e-4)


@ALL
@given(data=st.data())
def test_log_jacobian_is_that_of_the_change(transform, data):
    y = data.draw(values(transform))
    jacobian = np.asarray(BY_AUTODIFF[transform](y))
    assert jacobian[0, 1] == jacobian[1, 0] == 0
    np.testing.assert_allclose(LOG_JACOBIAN[transform](y), np.log(np.diag(jacobian)), atol=1e-4)


@ALL
@given(data=st.data())
def test_order_is_kept(transform, data):
    a, b = data.draw(values(transform)), data.draw(values(transform))
    va, vb = (np.asarray(FORWARD[transform](x)) for x in (a, b))
    assert (va[a > b] >= vb[a > b]).all()


@ALL
def test_any_leading_axes(transform):
    y = jnp.ones((3, 4, 2))
    assert FORWARD[transform](y).shape == LOG_JACOBIAN[transform](y).shape == (3, 4, 2)


def test_parameters():
    z = jnp.array([1.1, 2.0, 9.0])
    np.testing.assert_allclose(scaling("none").standardise_z(z), [1.0, 2.0, 1.0], rtol=1e-5)


def normal(transform="none", n=20, length=50):
    """Series that a transform is for."""
    rng = np.random.default_rng(0)
    series, z = rng.normal(size=(n, length, 2)), rng.normal(size=(n, 3)) + 7
    if transform == "log":
        return np.exp(series), z
    if transform == "logit":
        return 1 / (1 + np.exp(-series)), z
    return series * [1.0, 20.0] + [5.0, -100.0], z


@ALL
def test_what_it_makes_is_standard(transform):
    series, z = normal(transform)
    found = fit_scaling(series, z, transform)
    v = np.asarray(found.standardise(jnp.asarray(series, dtype=float))).reshape(-1, 2)
    np.testing.assert_allclose(np.median(v, axis=0), 0, atol=0.02)
    np.testing.assert_allclose(np.percentile(v, 90, 0) - np.percentile(v, 10, 0), 2.563, rtol=0.01)
    w = np.asarray(found.standardise_z(jnp.asarray(z, dtype=float)))
    np.testing.assert_allclose(w.mean(0), 0, atol=1e-4)
    np.testing.assert_allclose(w.std(0), 1, rtol=1e-4)


@ALL
def test_outliers_and_failures_do_not_matter(transform):
    series, z = normal(transform)
    clean = fit_scaling(series, z, transform)
    dirty = series.copy()
    dirty[0, :5] = 1e12
    dirty[1, 3:] = np.nan
    dirty[2, 4] = np.inf
    found = fit_scaling(dirty, z, transform)
    np.testing.assert_allclose((found.y_mean - clean.y_mean) / clean.y_scale, 0, atol=0.1)
    np.testing.assert_allclose(found.y_scale, clean.y_scale, rtol=0.08)


def test_a_column_that_seldom_changes_has_a_scale():
    series, z = normal()
    series[:, :, 0] = 0.0
    series[0, 0, 0] = 1.0
    assert fit_scaling(series, z, "none").y_scale[0] > 0


def test_equal_parameters_have_a_scale():
    series, _ = normal()
    found = fit_scaling(series, np.ones((20, 1)), "none")
    assert np.isfinite(found.standardise_z(jnp.ones(1))).all()


def test_errors():
    series, z = normal()
    series[:, :, 1] = 3.0
    with pytest.raises(ValueError, match="Column 1 of the simulated series never changes"):
        fit_scaling(series, z, "none")
    with pytest.raises(ValueError, match="No simulation gave finite values"):
        fit_scaling(series * np.nan, z, "none")
