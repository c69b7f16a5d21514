r"""Change of variables between the user's units and the networks'.

y goes through an optional monotone transform and is then centred and scaled; theta, already
unconstrained, is centred and scaled. The log-Jacobian of y's change is part of every log-density, so
that log-likelihoods of different settings can be compared.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

Transform = Literal["none", "asinh", "log", "logit"]
TRANSFORMS = ("none", "asinh", "log", "logit")
LIMIT = 100.0  # scales from the centre, beyond which a value counts no more than at the limit
FAR = -1e4  # where the lowest bin of a count begins
CLOSE = 1e-6  # to the border of the support, in units, nothing comes nearer
EXPONENT = 60.0  # largest, so that nothing overflows
MOVES = 4.0  # times the variance of a mean, from which on the mean moves with time
CUT = 5.0  # standardised, beyond which a value counts no more in a mean over series


def _codes(transform: str | Sequence[str] | Array) -> Array:
    """Numbers of transforms, one for all columns or one for each."""
    if isinstance(transform, str):
        return jnp.asarray(TRANSFORMS.index(transform), jnp.int32)
    if isinstance(transform, jax.Array):
        return transform
    return jnp.asarray([TRANSFORMS.index(name) for name in transform], jnp.int32)


class Scaling(eqx.Module):
    """Location and scale of y and of z, and the transform of y.

    Attributes:
        unit: the unit in which a transform sees y: asinh(y / unit).
        y_mean, y_scale: of the transformed y, robust.
        z_mean, z_scale: of the unconstrained parameters.
        transform: of each column, a number in `TRANSFORMS`: "none"; "asinh" for wide ranges of both
            signs; "log" for positive values; "logit" for values between 0 and 1. Numbers, so that
            another choice compiles nothing anew.
        u_mean, u_scale: of the known inputs, where there are any.
        low: the lowest value of a count, minus infinity where there is none.
        profile: mean and log sd of all simulated series at each time, standardised: what is known of a
            row from its time alone, seen like an input; no columns where the series are stationary.
    """

    unit: Float[Array, " d_y"]
    y_mean: Float[Array, " d_y"]
    y_scale: Float[Array, " d_y"]
    z_mean: Float[Array, " size"]
    z_scale: Float[Array, " size"]
    transform: Int[Array, "*d_y"] = eqx.field(converter=_codes)
    u_mean: Float[Array, " d_u"] = eqx.field(default_factory=lambda: jnp.zeros(0))
    u_scale: Float[Array, " d_u"] = eqx.field(default_factory=lambda: jnp.zeros(0))
    low: Float[Array, "*d_y"] = eqx.field(default_factory=lambda: jnp.asarray(-jnp.inf))
    profile: Float[Array, "P p"] = eqx.field(default_factory=lambda: jnp.zeros((0, 0)))

    def names(self) -> tuple[str, ...]:
        """The transform of each column."""
        codes = np.broadcast_to(np.asarray(self.transform), self.unit.shape)
        return tuple(TRANSFORMS[code] for code in codes)

    def standardise(self, y: Float[Array, "*b d_y"]) -> Float[Array, "*b d_y"]:
        """From the user's units to the network's."""
        v = (forward(y, self.unit, self.transform) - self.y_mean) / self.y_scale
        return jnp.clip(v, -LIMIT, LIMIT)

    def edges(self, y: Float[Array, "*b d_y"]) -> tuple[Float[Array, "*b d_y"], Float[Array, "*b d_y"]]:
        """The ends of the bin of a count, y - 1/2 and y + 1/2; the lowest bin is open to the left."""
        below, above = self.standardise(y - 0.5), self.standardise(y + 0.5)
        return jnp.where(y <= self.low, FAR, below), jnp.maximum(above, below + 1e-6)

    def restore(self, v: Float[Array, "*b d_y"]) -> Float[Array, "*b d_y"]:
        """From the network's units to the user's."""
        w = v * self.y_scale + self.y_mean
        bounded = jnp.clip(w, -EXPONENT, EXPONENT)
        found = (w, self.unit * jnp.sinh(bounded), self.unit * jnp.exp(bounded), jax.nn.sigmoid(w))
        return _select(self.transform, found)

    def log_jacobian(self, y: Float[Array, "*b d_y"]) -> Float[Array, "*b d_y"]:
        r"""\(\log |\partial v / \partial y|\) of each entry."""
        positive = jnp.maximum(y, CLOSE * self.unit)
        share = jnp.clip(y, CLOSE, 1 - CLOSE)
        found = (
            jnp.zeros_like(y),
            -0.5 * jnp.log(self.unit**2 + y**2),
            -jnp.log(positive),
            -jnp.log(share) - jnp.log1p(-share),
        )
        return _select(self.transform, found) - jnp.log(self.y_scale)

    def standardise_z(self, z: Float[Array, "*b size"]) -> Float[Array, "*b size"]:
        """Unconstrained parameters in the network's units."""
        return (z - self.z_mean) / self.z_scale

    def standardise_u(
        self, u: Float[Array, "*b T d_u"], first: int | Int[Array, ""] = 0
    ) -> Float[Array, "*b T known"]:
        """Known inputs of rows in the network's units, and the profile; the first row's time is given.

        Beyond the times that were simulated, the profile is at its average.
        """
        known = (u - self.u_mean) / self.u_scale
        rows, columns = self.profile.shape
        if not columns:
            return known
        times = first + jnp.arange(u.shape[-2])
        there = self.profile[jnp.minimum(times, rows - 1)]
        there = jnp.where((times < rows)[:, None], there, 0.0)
        return jnp.concatenate([known, jnp.broadcast_to(there, (*u.shape[:-1], columns))], axis=-1)


def forward(
    y: Float[Array, "*b d_y"], unit: Float[Array, " d_y"], code: Int[Array, "*d_y"]
) -> Float[Array, "*b d_y"]:
    """The transform of y."""
    logs = jnp.log(jnp.maximum(y / unit, CLOSE))
    share = jnp.clip(y, CLOSE, 1 - CLOSE)
    return _select(code, (y, jnp.arcsinh(y / unit), logs, jnp.log(share) - jnp.log1p(-share)))


def _select(code: Array, found: Sequence[Array]) -> Array:
    """Of each column, the one that its code names."""
    return jnp.select([code == i for i in range(len(found))], found)


def fit_scaling(
    series: Float[np.ndarray, "N T d_y"],
    z: Float[np.ndarray, "N size"],
    transform: str | Sequence[str],
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
    dtype = jnp.result_type(float)
    code = _codes(transform)
    changed = np.asarray(_forward(rows.clip(-1e30, 1e30).astype(dtype), unit.astype(dtype), code))
    changed = changed.astype(np.float64)
    u = np.zeros((1, 1, 0)) if inputs is None else inputs
    figures = {
        "unit": unit,
        "y_mean": np.median(changed, axis=0),
        "y_scale": np.maximum(_spread(changed), 1e-6),
        "z_mean": z.mean(axis=0),
        "z_scale": z.std(axis=0) + 1e-6,
        "u_mean": u.mean(axis=(0, 1)),
        "u_scale": u.std(axis=(0, 1)) + 1e-6,
        "low": np.where(rows.min(axis=0) >= 0, 0.0, -np.inf),
    }
    arrays: Any = {name: jnp.asarray(np.asarray(x, dtype)) for name, x in figures.items()}
    return Scaling(**arrays, transform=code)


_forward = jax.jit(forward)


def _spread(rows: Float[np.ndarray, "n d_y"]) -> Float[np.ndarray, " d_y"]:
    """Width of the middle 80 % over a standard normal's; the standard deviation where that is zero."""
    low, high = np.percentile(rows, [10, 90], axis=0)
    spread = (high - low) / 2.563
    return np.where(spread > 0, spread, rows.std(axis=0))


def fit_profile(scaling: Scaling, rows: Float[np.ndarray, "N T d_y"]) -> Scaling:
    """With the mean and the log sd of all series at each time."""
    mean, sd = _moments(scaling, rows)
    both = np.concatenate([mean, np.log(sd + 1e-3)], axis=1)
    both = (both - both.mean(axis=0)) / (both.std(axis=0) + 1e-3)
    return replace(scaling, profile=jnp.asarray(both.astype(jnp.result_type(float))))


def is_stationary(scaling: Scaling, rows: Float[np.ndarray, "N T d_y"]) -> bool:
    r"""Whether the mean of all series moves along time no more than by chance.

    Where they are stationary, the variance of \(\bar y_t\) over t is about that of a mean of N values.
    """
    num_series, length, _ = rows.shape
    if num_series < 8 or length < 8:
        return True
    mean, sd = _moments(scaling, rows)
    return bool((mean.var(axis=0) * num_series < MOVES * (sd**2).mean(axis=0)).all())


def _moments(
    scaling: Scaling, rows: Float[np.ndarray, "N T d_y"]
) -> tuple[Float[np.ndarray, "T d_y"], Float[np.ndarray, "T d_y"]]:
    """Mean and sd over series at each time, standardised, far-out values cut."""
    there = np.isfinite(rows)
    dtype = jnp.result_type(float)
    v = np.asarray(scaling.standardise(jnp.asarray(np.where(there, rows, 0.0).clip(-1e30, 1e30), dtype)))
    v, count = v.clip(-CUT, CUT) * there, np.maximum(there.sum(axis=0), 1)
    mean = v.sum(axis=0) / count
    variance = (v**2).sum(axis=0) / count - mean**2
    return mean, np.where(there.any(axis=0), np.sqrt(np.maximum(variance, 0.0)), 1.0)
