"""Any window of many series, without copying the rest."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from tsnl.kernel.memory.past import Context, Past, far_past


class Windows(eqx.Module):
    """N series of common length, from which any window can be taken without copying the rest.

    Attributes:
        y: standardised series, finite everywhere.
        seen: which entries a context may show; all False for the rows of a failed or a padding series.
        far: summaries of the past of every row.
        u: standardised inputs of every row; no columns where there are none.
        past: lags and decay rates.
    """

    y: Float[Array, "N T d_y"]
    seen: Bool[Array, "N T d_y"]
    far: Float[Array, "N T num_far"]
    u: Float[Array, "N T d_u"]
    past: Past

    @staticmethod
    def of(
        y: Float[Array, "N T d_y"],
        seen: Bool[Array, "N T d_y"],
        past: Past,
        u: Float[Array, "N T d_u"] | None = None,
    ) -> "Windows":
        """Prepare the summaries."""
        far = jax.vmap(lambda a, b: far_past(a, b, past.decays))(y, seen)
        return Windows(y, seen, far, jnp.zeros((*y.shape[:2], 0)) if u is None else u, past)

    def take(
        self, series: Int[Array, " n"], time: Int[Array, " n"]
    ) -> tuple[Float[Array, "n d_y"], Context]:
        """Targets and contexts of n windows, the time counted from 0."""
        offsets = jnp.arange(1, self.past.lag + 1)
        when = time[:, None] - offsets  # lag 1 first
        inside = when >= 0
        there = self.seen[series[:, None], jnp.maximum(when, 0)] & inside[..., None]
        lags = jnp.where(there, self.y[series[:, None], jnp.maximum(when, 0)], 0.0)
        inputs = jnp.zeros((len(time), 0))
        if self.past.d_u:
            before = jnp.where(inside[..., None], self.u[series[:, None], jnp.maximum(when, 0)], 0.0)
            inputs = jnp.concatenate([self.u[series, time], before.reshape(len(time), -1)], axis=1)
        context = Context(lags, 1.0 - there, self.far[series, time], inputs)
        return self.y[series, time], context


def pick(counts: Int[Array, " windows"], places: Float[Array, " n"]) -> Int[Array, " n"]:
    """The windows at some places, in [0, 1), of those that a running count counts."""
    rank = jnp.floor(places * counts[-1]).astype(jnp.int32)
    index = jnp.searchsorted(counts, jnp.minimum(rank, counts[-1] - 1), side="right")
    return jnp.minimum(index, counts.shape[0] - 1)


def pick_evenly(counts: Int[Array, " windows"], n: int) -> Int[Array, " n"]:
    """Windows, n of them, evenly spaced among those counted."""
    return pick(counts, (jnp.arange(n) + 0.5) / n)
