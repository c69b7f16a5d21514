r"""A fitted kernel q(y_t | past, theta): an ensemble of densities and the units they work in."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from tsnl.kernel.heads.base import Density
from tsnl.kernel.memory import Context, Past
from tsnl.kernel.region import Region
from tsnl.kernel.scaling import Scaling


class Kernel(eqx.Module):
    """The ensemble's average density, factor by factor.

    Attributes:
        members: densities stacked along a first axis.
        scaling: between the user's units and the densities'.
        past: how much of the past the densities see.
        region: where the windows lie that they learned from.
        gaps: whether they learned from contexts with entries missing.
    """

    members: Density
    scaling: Scaling
    past: Past
    region: Region
    gaps: bool = eqx.field(static=True, default=False)

    def log_probs(
        self, y: Float[Array, "n d_y"], context: Context, theta: Float[Array, "*n size"]
    ) -> Float[Array, " n"]:
        r"""\(\log \frac1M \sum_m q_m(y \mid \text{context}, \theta)\) of n windows, standardised."""
        log_q = self.member_log_probs(y, context, theta)
        return jax.nn.logsumexp(log_q, axis=0) - jnp.log(log_q.shape[0])

    def member_log_probs(
        self, y: Float[Array, "n d_y"], context: Context, theta: Float[Array, "*n size"]
    ) -> Float[Array, "M n"]:
        """The log-density of each member at n windows, at one theta or at one for each window."""
        arrays, static = eqx.partition(self.members, eqx.is_array)
        return jax.vmap(lambda m: eqx.combine(m, static).log_probs(y, context, theta))(arrays)

    def sample(
        self, key: Key[Array, ""], context: Context, theta: Float[Array, " size"]
    ) -> Float[Array, " d_y"]:
        """Draw from the mixture of all members, in standardised units."""
        arrays, static = eqx.partition(self.members, eqx.is_array)
        key_member, key_draw = jax.random.split(key)
        num_members = jax.tree.leaves(arrays)[0].shape[0]
        index = jax.random.randint(key_member, (), 0, num_members)
        member = jax.tree.map(lambda x: x[index], arrays)
        return eqx.combine(member, static).sample(key_draw, context, theta)
