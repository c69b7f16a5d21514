"""Priors: named numpyro distributions seen as one flat unconstrained vector.

People and model laws speak of a dict `theta` of constrained arrays; samplers and networks speak of a
vector `z` in R^size. The change between the two, and its log-Jacobian, is made here and nowhere else.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from math import prod

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, ArrayLike, Float, Int, Key, Shaped

from tsnl.problem.sites import Site, Theta, make_site
from tsnl.runtime import html
from tsnl.runtime.blocks import by_block
from tsnl.runtime.table import Table
from tsnl.runtime.text import law


class Prior:
    """A joint prior of named parameters.

    Each keyword is a parameter of the model and its numpyro distribution, of any event shape. A
    distribution with a batch shape is taken as independent entries of one array. Parameters that depend
    on each other a priori share one multivariate distribution under a tuple of names:

        Prior({("rho1", "rho2"): dist.MultivariateNormal(mean, covariance)}, Q=dist.LogNormal(0, 1))

    Attributes:
        names: the parameters, in order.
        size: dimension of the unconstrained vector z, and number of distinct free entries of theta.
        labels: a name for each distinct free entry, such as `Q`, `rho[0]`, `C[1,0]`.
    """

    names: tuple[str, ...]
    size: int
    labels: tuple[str, ...]

    def __init__(
        self,
        joint: Mapping[tuple[str, ...] | str, dist.Distribution] | None = None,
        /,
        **distributions: dist.Distribution,
    ):
        pairs = [((n,) if isinstance(n, str) else tuple(n), d) for n, d in (joint or {}).items()]
        pairs += [((name,), d) for name, d in distributions.items()]
        if not pairs:
            raise ValueError("The prior is empty: name at least one parameter, as in Prior(Q=...).")
        sites: list[Site] = []
        start = 0
        for names, distribution in pairs:
            sites.append(make_site(names, distribution, start))
            start += len(sites[-1].entries)
        self.names = tuple(name for site in sites for name in site.names)
        if len(set(self.names)) < len(self.names):
            raise ValueError(f"A parameter has two priors: the names are {list(self.names)}.")
        self.size = start
        self.labels = tuple(label for site in sites for label in site.labels())
        self._sites = tuple(sites)

    @property
    def distributions(self) -> list[tuple[tuple[str, ...], dist.Distribution]]:
        """Each distribution with the names it covers, in order."""
        return [(site.names, site.distribution) for site in self._sites]

    def __repr__(self) -> str:
        parts = (f"{', '.join(s.names)}: {type(s.distribution).__name__}" for s in self._sites)
        return f"Prior({'; '.join(parts)})"

    def _repr_html_(self) -> str:
        rows = [[", ".join(site.names), law(site.distribution)] for site in self._sites]
        table = Table("Prior", ["parameter", "prior"], rows)
        return html.card(f"Prior of {len(self.names)} parameter(s)", html.table(table, prose=True))

    def sample(self, key: Key[Array, ""], n: int | None = None) -> dict[str, Array]:
        """Draws of theta; draw i depends on `fold_in(key, i)` alone, not on how many are drawn.

        Args:
            key: a JAX random key.
            n: how many; None draws one, without a leading axis.

        Returns:
            Name to array, of shape (n, *event) or (*event).
        """
        if n is None:
            return self._sample_one(key)
        keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(n))
        return jax.vmap(self._sample_one)(keys)

    def _sample_one(self, key: Key[Array, ""]) -> dict[str, Array]:
        theta: dict[str, Array] = {}
        for i, site in enumerate(self._sites):
            theta |= site.split(jnp.asarray(site.law.sample(jax.random.fold_in(key, i))))
        return theta

    def log_prob(self, theta: Theta) -> Float[Array, ""]:
        r"""The log-density log p(\theta) with respect to the distinct free entries of theta.

        Raises:
            ValueError: names or shapes that do not fit, or a value outside the support.
        """
        self.check(theta)
        parts = [site.law.log_prob(site.join(theta)) for site in self._sites]
        return jnp.sum(jnp.stack(parts))

    def unconstrain(self, theta: Theta) -> Float[Array, " size"]:
        """The vector z of a theta inside the support."""
        self.check(theta)
        return jnp.concatenate([jnp.ravel(s.bijection.inv(s.join(theta))) for s in self._sites])

    def constrain(self, z: Float[ArrayLike, " size"]) -> dict[str, Array]:
        """The theta of a vector z."""
        theta: dict[str, Array] = {}
        for site in self._sites:
            theta |= site.split(jnp.asarray(site.bijection(site.take(z))))
        return theta

    def sample_unconstrained(self, key: Key[Array, ""], n: int) -> Float[np.ndarray, "n size"]:
        """Draws of z, compiled; draw i depends on `fold_in(key, i)` alone.

        Of three, the first that is not on the border of the support, where z is infinite: of a uniform
        law in 32 bits, one in eight million is.
        """
        return by_block(partial(_draw_block, self, key), np.arange(n), BLOCK)

    def constrain_all(self, z: Float[np.ndarray, "n size"]) -> dict[str, np.ndarray]:
        """The theta of many z, compiled: name to array (n, *event)."""
        found = by_block(partial(_constrain_block, self), z.astype(jnp.result_type(float)), BLOCK)
        return {name: found[name] for name in self.names}

    def unconstrain_all(
        self, theta: Mapping[str, np.ndarray], *, check: bool = True
    ) -> Float[np.ndarray, "n size"]:
        """The z of many theta, name to array (n, *event), compiled.

        Args:
            theta: the parameters.
            check: whether each row is to be looked at; not for draws of this prior's own making, which
                rounding may have put on the border of the support.

        Raises:
            ValueError: a shape that does not fit, or a row outside the support.
        """
        if check:
            self.check({name: value[0] for name, value in theta.items()})
        rows = {name: np.asarray(value, jnp.result_type(float)) for name, value in theta.items()}
        z = by_block(partial(_unconstrain_block, self), rows, BLOCK)
        if not check:
            return z
        there = np.isfinite(z).all(axis=1)
        back = self.constrain_all(np.where(there[:, None], z, 0.0))
        for name, value in theta.items():  # the inverse is finite outside of some supports
            close = np.isclose(back[name], value, rtol=1e-3, atol=1e-5)
            there &= close.reshape(len(z), -1).all(axis=1)
        if not there.all():
            row = int(np.argmin(there))
            values = {name: np.asarray(value[row]).tolist() for name, value in theta.items()}
            raise ValueError(
                f"{int((~there).sum())} of {len(z)} parameters lie outside the support of the prior, "
                f"the first in row {row + 1}: {values}."
            )
        return z

    def log_jacobian(self, z: Float[ArrayLike, " size"]) -> Float[Array, ""]:
        r"""\log |\det \partial\theta / \partial z|, theta taken as its distinct free entries."""
        parts = []
        for site in self._sites:
            x = site.take(z)
            parts.append(jnp.sum(site.bijection.log_abs_det_jacobian(x, site.bijection(x))))
        return jnp.sum(jnp.stack(parts))

    def log_prob_unconstrained(self, z: Float[ArrayLike, " size"]) -> Float[Array, ""]:
        r"""The log-density of z: \log p(\theta(z)) + \log |\det \partial\theta / \partial z|."""
        theta = self.constrain(z)
        parts = [jnp.sum(s.law.log_prob(s.join(theta))) for s in self._sites]
        return jnp.sum(jnp.stack(parts)) + self.log_jacobian(z)

    def coordinates(self, theta: Theta) -> Shaped[Array, "... size"]:
        """The distinct free entries of theta, in the order of `labels`; leading batch axes stay."""
        columns = []
        for site in self._sites:
            value = site.join(theta)
            batch = value.shape[: value.ndim - len(site.event_shape)]
            flat = value.reshape(*batch, prod(site.event_shape))
            columns.append(flat[..., jnp.asarray(np.array(site.entries))])
        return jnp.concatenate(columns, axis=-1)

    def check(self, theta: Theta) -> None:
        """Raise ValueError where theta's names, shapes or values do not fit this prior.

        Values are looked at only where they are known: inside `jit` the density decides.
        """
        missing, unknown = set(self.names) - set(theta), set(theta) - set(self.names)
        if missing or unknown:
            raise ValueError(
                f"theta has the names {sorted(theta)}, the prior has {sorted(self.names)}: "
                f"missing {sorted(missing)}, not in the prior {sorted(unknown)}."
            )
        for site in self._sites:
            shapes = [jnp.shape(theta[name]) for name in site.names]
            expected = site.event_shape if len(site.names) == 1 else ()
            if any(shape != expected for shape in shapes):
                raise ValueError(f"{site} has shape {shapes[0]}, expected {expected}.")
            if any(isinstance(theta[name], jax.core.Tracer) for name in site.names):
                continue
            value = site.join(theta)
            if not site.supports(value):
                raise ValueError(
                    f"{site} = {np.asarray(value).tolist()} lies outside the support of its "
                    f"prior {type(site.distribution).__name__}: {site.distribution.support}."
                )

    def check_known(self, known: Iterable[str]) -> None:
        """Raise ValueError where the prior names a parameter that the model does not know."""
        known = sorted(known)
        unknown = [name for name in self.names if name not in known]
        if unknown:
            raise ValueError(
                f"The model has no parameter {unknown}; it has {known}. Rename it in the prior."
            )


BLOCK = 1024  # rows of one compiled call; a shorter block is filled up


@partial(jax.jit, static_argnums=0)
def _draw_block(prior: Prior, key: Key[Array, ""], index: Int[Array, " n"]) -> Float[Array, "n size"]:
    def one(i: Int[Array, ""]) -> Float[Array, " size"]:
        own = jax.random.fold_in(key, i)
        keys = (own, *(jax.random.fold_in(own, n) for n in (1, 2)))
        tried = jnp.stack([prior.unconstrain(prior._sample_one(k)) for k in keys])
        return tried[jnp.argmax(jnp.isfinite(tried).all(axis=1))]

    return jax.vmap(one)(index)


@partial(jax.jit, static_argnums=0)
def _constrain_block(prior: Prior, z: Float[Array, "n size"]) -> dict[str, Array]:
    return jax.vmap(prior.constrain)(z)


@partial(jax.jit, static_argnums=0)
def _unconstrain_block(prior: Prior, theta: dict[str, Array]) -> Float[Array, "n size"]:
    return jax.vmap(prior.unconstrain)(theta)
