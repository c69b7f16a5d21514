"""The end of a series: what a kernel needs in order to go on, at a fixed cost for each new row."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from tsnl.kernel.memory.past import Context, Past, Sums, summaries


class Recent(eqx.Module):
    """What of a series a kernel needs in order to go on: the last rows and the sums.

    Attributes:
        y: the last L rows, the latest first, zero where not seen.
        seen: which of their entries are there.
        u: the known inputs of these rows.
        sums: of all rows so far.
        past: lags and decay rates.
    """

    y: Float[Array, "L d_y"]
    seen: Bool[Array, "L d_y"]
    u: Float[Array, "L d_u"]
    sums: Sums
    past: Past

    @staticmethod
    def none(past: Past, d_y: int) -> "Recent":
        """Before the first row."""
        shape = (past.lag, d_y)
        u, sums = jnp.zeros((past.lag, past.d_u)), Sums.none(past.decays, d_y)
        return Recent(jnp.zeros(shape), jnp.zeros(shape, bool), u, sums, past)

    @staticmethod
    def of(
        y: Float[Array, "T d_y"], seen: Bool[Array, "T d_y"], u: Float[Array, "T d_u"], past: Past
    ) -> "Recent":
        """After all rows of a standardised series."""
        start = Recent.none(past, y.shape[1])
        return jax.lax.scan(lambda recent, now: (recent.push(*now), None), start, (y, seen, u))[0]

    def push(
        self, row: Float[Array, " d_y"], seen: Bool[Array, " d_y"], u: Float[Array, " d_u"]
    ) -> "Recent":
        """After one more standardised row, under its inputs."""
        row = jnp.where(seen, row, 0.0)
        y, flags, inputs = (
            jnp.concatenate([new[None], old[:-1]]) if self.past.lag else old
            for new, old in ((row, self.y), (seen, self.seen), (u, self.u))
        )
        sums = self.sums.push(row, seen, self.past.decays) if self.past.decays else self.sums
        return Recent(y, flags, inputs, sums, self.past)

    def context(self, u: Float[Array, " d_u"]) -> Context:
        """The context of the next row, under its inputs."""
        decays = self.past.decays
        far = summaries(self.sums, decays) if decays else jnp.zeros(0)
        return Context(self.y, 1.0 - self.seen, far, jnp.concatenate([u, self.u.ravel()]))
