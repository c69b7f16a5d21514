r"""The learned likelihood: the product of one kernel along one or several observed series."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from tsnl.kernel.fitted import Kernel
from tsnl.kernel.memory import Past, Windows
from tsnl.kernel.scaling import Scaling
from tsnl.likelihood.completion import Completion

BLOCK = 1024  # windows evaluated at once: bounds the memory of long series


class SurrogateLikelihood(eqx.Module):
    r"""The sum of the kernel's log-densities along a panel of series, in the user's units.

    \(\log q(y_{1:T} \mid \theta) = \sum_t \log q(y_t \mid \text{past}_t, \theta)\), summed over them.

    Attributes:
        kernel: the fitted kernel.
        windows: the observed series, standardised; a shorter one has rows that are not seen at its end.
        targets: which rows count, one series after the other.
        log_jacobian: of the change from the user's units to the kernel's, of each row.
        completion: the log-probability that a simulation does not fail, counted once for each series;
            None where none failed.
    """

    kernel: Kernel
    windows: Windows
    targets: Bool[Array, " rows"]
    log_jacobian: Float[Array, " rows"]
    completion: Completion | None = None

    @staticmethod
    def of(
        kernel: Kernel,
        *panel: Float[Array | np.ndarray, "_ d_y"],
        inputs: Sequence[Float[np.ndarray, "_ d_u"]] | None = None,
        completion: Completion | None = None,
    ) -> "SurrogateLikelihood":
        """The likelihood of one or several series, NaN where not observed, under their inputs."""
        prepared = _prepare(kernel.scaling, kernel.past, panel, tuple(inputs or ()))
        return SurrogateLikelihood(kernel, *prepared, completion)

    def __call__(self, z: Float[Array, " size"]) -> Float[Array, ""]:
        """The log-likelihood at an unconstrained z."""
        log_q = jnp.sum(self.factors(z))
        return log_q if self.completion is None else log_q + len(self.windows.y) * self.completion(z)

    def factors(self, z: Float[Array, " size"]) -> Float[Array, " rows"]:
        """The log of each factor, zero where a row does not count; one series after the other."""
        theta = self.kernel.scaling.standardise_z(z)
        length, rows = self.windows.y.shape[1], self.targets.shape[0]

        def block(index: Array) -> Array:
            y, context = self.windows.take(index // length, index % length)
            return self.kernel.log_probs(y, context, theta)

        if rows <= BLOCK:
            log_q = block(jnp.arange(rows))
        else:
            padded = -(-rows // BLOCK) * BLOCK
            index = jnp.minimum(jnp.arange(padded), rows - 1).reshape(-1, BLOCK)
            log_q = jax.lax.map(jax.checkpoint(block), index).ravel()[:rows]
        return jnp.where(self.targets, log_q + self.log_jacobian, 0.0)


@eqx.filter_jit
def _prepare(
    scaling: Scaling,
    past: Past,
    panel: tuple[Array | np.ndarray, ...],
    inputs: tuple[Array | np.ndarray, ...],
) -> tuple[Windows, Bool[Array, " rows"], Float[Array, " rows"]]:
    length = max(len(series) for series in panel)

    def stack(parts: tuple[Array | np.ndarray, ...], fill: float) -> Float[Array, "n T columns"]:
        padded = [((0, length - len(part)), (0, 0)) for part in parts]
        return jnp.stack(
            [
                jnp.pad(jnp.asarray(part, dtype=float), pad, constant_values=fill)
                for part, pad in zip(parts, padded, strict=True)
            ]
        )

    rows = stack(panel, jnp.nan)
    u = scaling.standardise_u(stack(inputs, 0.0)) if inputs else None
    seen = ~jnp.isnan(rows)
    filled = jnp.where(seen, rows, 0.0)
    windows = Windows.of(scaling.standardise(filled), seen, past, u)
    log_jacobian = jnp.sum(jnp.where(seen, scaling.log_jacobian(filled), 0.0), axis=2)
    return windows, seen.all(axis=2).ravel(), log_jacobian.ravel()
