r"""A regression with a mixture of Gaussians for its noise, autoregressive over the components of y.

Component j of y, given features c, parameters \(\theta\) and the components before it:

1. A regression whose weights depend on theta, for the mean and for the log-scale,
   \(m = w(\theta)^T c + w_0(\theta)\), \(\log s = v(\theta)^T c + v_0(\theta)\), gives the residual
   \(e_j = (y_j - m) / s\). Here c is the features, and bent combinations \(\tanh(A c + b)\) of them.
   With w smooth in theta this is the form of the Kalman filter's one-step prediction.
2. The residuals before it are taken out: first linearly, \(e_j \sqrt{1 + |a|^2} - a^T e_{<j}\) with
   \(a = \sinh r(\theta)\), which is the conditional of correlated normals; then by bent functions of
   them, in mean and log-scale, for heavier tails.
3. What is left has a mixture of K Gaussians, whose weights, means and scales a small network moves away
   from a common shape, starting at zero.

The weights have a prior that fades with the lag and pulls groups of them to zero unless the data ask
for them (see `weight_prior`), so that a few hundred windows are enough to start with and many are still
used. The weights of step 1 start at their ridge regression.
"""

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Key

from tsnl.kernel.heads.autoregressive import Autoregressive, Gaussians, Shift
from tsnl.kernel.heads.base import Groups, Rows, num_features
from tsnl.kernel.heads.component import mixture
from tsnl.kernel.heads.fresh import Sizes, fresh_parts
from tsnl.kernel.heads.regression import Part, decouple, extended, regression
from tsnl.kernel.heads.ridge import ridge_start
from tsnl.kernel.heads.weight_prior import minus_log_prior, of_others, with_bends
from tsnl.runtime.checked import DEEPEST, check_fields
from tsnl.store.registry import register


@register
@dataclass(frozen=True)
class Mixture:
    """Options of the family.

    Attributes:
        num_components: Gaussians in the mixture.
        width, depth: of the network that shapes the mixture; width 0 leaves it out.
        curved: whether the weights of step 1 bend with theta; None lets `TSNL` choose by the number of
            simulations, and is False elsewhere.
        bends: bent combinations of features in step 1; None lets `TSNL` choose by the number of
            simulations, and is 0 elsewhere.
    """

    num_components: int = 4
    width: int = 32
    depth: int = 2
    curved: bool | None = None
    bends: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        least = min(self.width, self.bends or 0)
        if self.num_components < 1 or not 1 <= self.depth <= DEEPEST or least < 0:
            raise ValueError(
                f"{self}: expected a component, width and bends 0 or more, depth 1 to {DEEPEST}."
            )

    def make(self, key: Key[Array, ""], d_y: int, groups: Groups, size: int) -> "MixtureHead":
        """A fresh head."""
        return self.make_counts(key, d_y, groups, size, ())

    def make_counts(
        self, key: Key[Array, ""], d_y: int, groups: Groups, size: int, integer: tuple[bool, ...]
    ) -> "MixtureHead":
        """A fresh head, for entries some of which are integer-valued."""
        sizes = Sizes(self.num_components, self.width, self.depth, bool(self.curved), self.bends or 0)
        parts = fresh_parts(key, d_y, num_features(groups), size, sizes)
        return MixtureHead(parts, groups, integer)

    def start(self, head: "MixtureHead", rows: Rows) -> "MixtureHead":
        """The weights of step 1 at their ridge regression."""
        groups = with_bends(head.groups, self.bends or 0)

        def one(now: tuple[Part, Array, Array]) -> tuple[Array, Array]:
            part, y, others = now
            own = rows._replace(y=y, features=extended(part, rows.features.T).T)
            return ridge_start(own, groups, others if head.d_y > 1 else None)

        each = (head.parts, rows.y.T, jnp.asarray(of_others(groups, head.d_y)))
        mean, offset = lax.map(one, each)  # one after the other: they are large
        mean = head.parts.mean.at[:, : mean.shape[1]].set(mean)
        return eqx.tree_at(lambda h: (h.parts.mean, h.parts.offset), head, (mean, offset))


class MixtureHead(Autoregressive):
    """The density; see the module."""

    parts: Part

    def affine(
        self, part: Part, c: Float[Array, "F n"], theta: Float[Array, "size m"]
    ) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """Step 1."""
        return regression(part, c, theta)

    def rest(
        self,
        part: Part,
        c: Float[Array, "F n"],
        theta: Float[Array, "size m"],
        before: Float[Array, "before n"],
        counts: Float[Array, " before"],
    ) -> tuple[Shift, Gaussians]:
        """Steps 2 and 3."""
        return decouple(part, theta, before, counts), mixture(part, c, theta, before, counts)

    def penalty(self) -> Float[Array, ""]:
        """Minus the log-prior of all weights."""
        return minus_log_prior(self.parts, self.groups)
