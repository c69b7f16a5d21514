r"""The learned likelihood: the product of one kernel along one or several observed series."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from tsnl.kernel.fitted import Kernel
from tsnl.likelihood.completion import Completion
from tsnl.likelihood.correction import Correction

BLOCK = 1024  # rows evaluated at once: bounds the memory of long series


class SurrogateLikelihood(eqx.Module):
    r"""The sum of the kernel's log-densities along a panel of series, in the user's units.

    \(\log q(y_{1:T} \mid \theta) = \sum_t \log q(y_t \mid \text{past}_t, \theta)\), summed over them.

    Attributes:
        kernel: the fitted kernel.
        y: rows as the heads take them, one series after the other, each filled up to the longest.
        features: of their pasts, computed once: they do not depend on theta.
        targets: which rows count.
        log_jacobian: of the change from the user's units to the kernel's, of each row.
        num_series: how many series.
        completion: the log-probability that a simulation does not fail, counted once for each series;
            None where none failed.
        correction: what a filter that knows the states says beyond the kernel, about these series; None
            where there is none.
    """

    kernel: Kernel
    y: Float[Array, "rows entries"]
    features: Float[Array, "m rows F"]
    targets: Bool[Array, " rows"]
    log_jacobian: Float[Array, " rows"]
    num_series: int = eqx.field(static=True)
    completion: Completion | None = None
    correction: Correction | None = None

    @staticmethod
    def of(
        kernel: Kernel,
        *panel: Float[Array | np.ndarray, "_ d_y"],
        inputs: Sequence[Float[np.ndarray, "_ d_u"]] | None = None,
        completion: Completion | None = None,
    ) -> "SurrogateLikelihood":
        """The likelihood of one or several series, NaN where not observed, under their inputs."""
        length = max(len(series) for series in panel)
        rows = _stack(panel, length, np.nan)
        none = np.zeros((len(panel), length, 0), dtype=rows.dtype)
        u = _stack(inputs, length, 0.0) if inputs else none
        return SurrogateLikelihood(kernel, *_prepare(kernel, rows, u), len(panel), completion)

    def __call__(self, z: Float[Array, " size"]) -> Float[Array, ""]:
        """The log-likelihood at an unconstrained z."""
        log_q = jnp.sum(self.factors(z))
        if self.completion is not None:
            log_q += self.num_series * self.completion(z)
        return log_q if self.correction is None else log_q + self.correction(z)

    def factors(self, z: Float[Array, " size"]) -> Float[Array, " rows"]:
        """The log of each factor, zero where a row does not count; one series after the other."""
        theta, rows = self.kernel.scaling.standardise_z(z), len(self.y)

        def block(index: Array) -> Array:
            return self.kernel.log_probs(self.y[index], self.features[:, index], theta)

        if rows <= BLOCK:
            log_q = self.kernel.log_probs(self.y, self.features, theta)
        else:
            padded = -(-rows // BLOCK) * BLOCK
            index = jnp.minimum(jnp.arange(padded), rows - 1).reshape(-1, BLOCK)
            log_q = jax.lax.map(jax.checkpoint(block), index).ravel()[:rows]
        return jnp.where(self.targets, log_q + self.log_jacobian, 0.0)


def _stack(
    parts: Sequence[Float[Array | np.ndarray, "_ columns"]], length: int, fill: float
) -> Float[np.ndarray, "n T columns"]:
    padded = [((0, length - len(part)), (0, 0)) for part in parts]
    pairs = zip(parts, padded, strict=True)
    stacked = np.stack([np.pad(np.asarray(part), pad, constant_values=fill) for part, pad in pairs])
    return stacked.astype(jnp.result_type(float))


@eqx.filter_jit
def _prepare(
    kernel: Kernel,
    rows: Float[Array | np.ndarray, "n T d_y"],
    inputs: Float[Array | np.ndarray, "n T d_u"],
) -> tuple[
    Float[Array, "rows entries"], Float[Array, "m rows F"], Bool[Array, " rows"], Float[Array, " rows"]
]:
    scaling = kernel.scaling
    seen = ~jnp.isnan(rows)
    filled = jnp.where(seen, rows, 0.0)
    y, u = scaling.standardise(filled), scaling.standardise_u(jnp.asarray(inputs))
    features = jax.vmap(kernel.features, out_axes=1)(y, seen, u)  # (m, series, T, F)
    log_jacobian = jnp.sum(jnp.where(seen, kernel.log_jacobian(filled), 0.0), axis=2)
    targets = kernel.targets(filled)
    return (
        targets.reshape(-1, targets.shape[2]),
        features.reshape(features.shape[0], y.shape[0] * y.shape[1], features.shape[3]),
        seen.all(axis=2).ravel(),
        log_jacobian.ravel(),
    )
