r"""The learned likelihood: the product of one kernel along the observed series."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from tsnl.density.kernel import Kernel
from tsnl.density.scaling import Scaling
from tsnl.windows import Past, Windows

BLOCK = 1024  # windows evaluated at once: bounds the memory of long series


class SurrogateLikelihood(eqx.Module):
    r"""The sum of the kernel's log-densities along one series, in the user's units.

    \(\log q(y_{1:T} \mid \theta) = \sum_t \log q(y_t \mid \text{past}_t, \theta)\).

    Attributes:
        kernel: the fitted kernel.
        windows: the one observed series, standardised.
        targets: which rows count.
        log_jacobian: of the change from the user's units to the kernel's, of each row.
    """

    kernel: Kernel
    windows: Windows
    targets: Bool[Array, " T"]
    log_jacobian: Float[Array, " T"]

    @staticmethod
    def of(kernel: Kernel, series: Float[Array, "T d_y"]) -> "SurrogateLikelihood":
        """The likelihood of a series, NaN where not observed."""
        return SurrogateLikelihood(kernel, *_prepare(kernel.scaling, kernel.past, jnp.asarray(series)))

    def __call__(self, z: Float[Array, " size"]) -> Float[Array, ""]:
        """The log-likelihood at an unconstrained z."""
        return jnp.sum(self.factors(z))

    def factors(self, z: Float[Array, " size"]) -> Float[Array, " T"]:
        """The log of each factor, zero where a row does not count."""
        theta = self.kernel.scaling.standardise_z(z)
        length = self.targets.shape[0]

        def block(times: Array) -> Array:
            y, context = self.windows.take(jnp.zeros_like(times), times)
            return self.kernel.log_probs(y, context, theta)

        if length <= BLOCK:
            log_q = block(jnp.arange(length))
        else:
            padded = -(-length // BLOCK) * BLOCK
            times = jnp.minimum(jnp.arange(padded), length - 1).reshape(-1, BLOCK)
            log_q = jax.lax.map(jax.checkpoint(block), times).ravel()[:length]
        return jnp.where(self.targets, log_q + self.log_jacobian, 0.0)


@eqx.filter_jit
def _prepare(
    scaling: Scaling, past: Past, series: Float[Array, "T d_y"]
) -> tuple[Windows, Bool[Array, " T"], Float[Array, " T"]]:
    seen = ~jnp.isnan(series)
    filled = jnp.where(seen, series, 0.0)
    windows = Windows.of(scaling.standardise(filled)[None], seen[None], past)
    log_jacobian = jnp.sum(jnp.where(seen, scaling.log_jacobian(filled), 0.0), axis=1)
    return windows, seen.all(axis=1), log_jacobian
