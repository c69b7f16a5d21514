r"""Change of variables between the user's units and the networks'.

y goes through an optional monotone transform and is then centred and scaled; theta, already
unconstrained, is centred and scaled. The log-Jacobian of y's change is part of every log-density, so
that log-likelihoods of different settings can be compared.
"""

from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Transform = Literal["none", "asinh", "log1p"]
TRANSFORMS = ("none", "asinh", "log1p")


class Scaling(eqx.Module):
    """Location and scale of y and of z, and the transform of y.

    Attributes:
        unit: the unit in which a transform sees y: asinh(y / unit).
        y_mean, y_scale: of the transformed y, robust.
        z_mean, z_scale: of the unconstrained parameters.
        u_mean, u_scale: of the known inputs, where there are any.
        transform: "none"; "asinh" for wide ranges of both signs; "log1p", sign(y) log(1 + |y|).
    """

    unit: Float[Array, " d_y"]
    y_mean: Float[Array, " d_y"]
    y_scale: Float[Array, " d_y"]
    z_mean: Float[Array, " size"]
    z_scale: Float[Array, " size"]
    transform: Transform = eqx.field(static=True)
    u_mean: Float[Array, " d_u"] = eqx.field(default_factory=lambda: jnp.zeros(0))
    u_scale: Float[Array, " d_u"] = eqx.field(default_factory=lambda: jnp.zeros(0))

    def standardise(self, y: Float[Array, "*b d_y"]) -> Float[Array, "*b d_y"]:
        """From the user's units to the network's."""
        return (forward(y, self.unit, self.transform) - self.y_mean) / self.y_scale

    def restore(self, v: Float[Array, "*b d_y"]) -> Float[Array, "*b d_y"]:
        """From the network's units to the user's."""
        w = v * self.y_scale + self.y_mean
        if self.transform == "asinh":
            return self.unit * jnp.sinh(w)
        if self.transform == "log1p":
            return jnp.sign(w) * jnp.expm1(jnp.abs(w))
        return w

    def log_jacobian(self, y: Float[Array, "*b d_y"]) -> Float[Array, "*b d_y"]:
        r"""\(\log |\partial v / \partial y|\) of each entry."""
        constant = -jnp.log(self.y_scale)
        if self.transform == "asinh":
            return constant - 0.5 * jnp.log(self.unit**2 + y**2)
        if self.transform == "log1p":
            return constant - jnp.log1p(jnp.abs(y))
        return jnp.broadcast_to(constant, y.shape)

    def standardise_z(self, z: Float[Array, "*b size"]) -> Float[Array, "*b size"]:
        """Unconstrained parameters in the network's units."""
        return (z - self.z_mean) / self.z_scale

    def standardise_u(self, u: Float[Array, "*b d_u"]) -> Float[Array, "*b d_u"]:
        """Known inputs in the network's units."""
        return (u - self.u_mean) / self.u_scale


def forward(y: Any, unit: Any, transform: Transform, xp: Any = jnp) -> Any:
    """The transform of y, by numpy or by jax.numpy."""
    if transform == "asinh":
        return xp.arcsinh(y / unit)
    if transform == "log1p":
        return xp.sign(y) * xp.log1p(xp.abs(y))
    return y


def fit_scaling(
    series: Float[np.ndarray, "N T d_y"],
    z: Float[np.ndarray, "N size"],
    transform: Transform,
    inputs: Float[np.ndarray, "N T d_u"] | None = None,
) -> Scaling:
    """Robust location and scale of simulated series (NaN left out) and of their parameters and inputs.

    The centre of y is the median; its scale spans the middle 80 %, in units of a normal's.

    Raises:
        ValueError: no finite values, or a column that never changes.
    """
    rows = series.reshape(-1, series.shape[-1])
    rows = rows[np.isfinite(rows).all(axis=1)]
    if len(rows) < 2:
        raise ValueError("No simulation gave finite values: check the simulator at draws of the prior.")
    unit = _spread(rows)
    flat = ~(unit > 0)
    if flat.any():
        raise ValueError(
            f"Column {int(np.argmax(flat))} of the simulated series never changes: there is nothing to "
            f"learn from it. Remove that column, or check the simulator."
        )
    changed = forward(rows, unit, transform, np)
    dtype = jnp.result_type(float)
    u = np.zeros((1, 1, 0)) if inputs is None else inputs
    figures = {
        "unit": unit,
        "y_mean": np.median(changed, axis=0),
        "y_scale": _spread(changed),
        "z_mean": z.mean(axis=0),
        "z_scale": z.std(axis=0) + 1e-6,
        "u_mean": u.mean(axis=(0, 1)),
        "u_scale": u.std(axis=(0, 1)) + 1e-6,
    }
    arrays: Any = {name: jnp.asarray(np.asarray(x, dtype)) for name, x in figures.items()}
    return Scaling(**arrays, transform=transform)


def _spread(rows: Float[np.ndarray, "n d_y"]) -> Float[np.ndarray, " d_y"]:
    """Width of the middle 80 % over a standard normal's; the standard deviation where that is zero."""
    low, high = np.percentile(rows, [10, 90], axis=0)
    spread = (high - low) / 2.563
    return np.where(spread > 0, spread, rows.std(axis=0))
