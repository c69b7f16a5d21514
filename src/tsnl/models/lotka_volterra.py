"""The stochastic Lotka-Volterra predator-prey model."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Key

from tsnl.models.arrays import Parameter, parameter, real
from tsnl.models.base import StateSpaceModel, Theta
from tsnl.store.registry import register


@register
class LotkaVolterra(StateSpaceModel):
    r"""Predators A and prey B as a reaction network, seen through noisy counts.

    .. math::
        A + B \xrightarrow{\rho_1} 2A, \quad A + B \xrightarrow{\rho_2} A, \quad
        B \xrightarrow{\rho_3} 2B, \quad A \xrightarrow{\rho_4} \emptyset,

    simulated exactly between observations that are `dt` apart. The state is (predators, prey); the
    observation is the prey count, or both counts, plus N(0, noise_sd^2). A trajectory that needs more
    than `event_cap` events in one interval has failed: its state is NaN from that step on.
    """

    state_labels: ClassVar[tuple[str, ...]] = ("predators", "prey")

    rho1: Parameter = parameter(0.01)
    rho2: Parameter = parameter(0.01)
    rho3: Parameter = parameter(1.0)
    rho4: Parameter = parameter(0.5)
    noise_sd: Parameter = parameter(5.0)
    dt: float = eqx.field(static=True, default=0.4)
    event_cap: int = eqx.field(static=True, default=20_000)
    observe: Literal["prey", "both"] = eqx.field(static=True, default="prey")
    start: tuple[int, int] = eqx.field(static=True, default=(50, 100))

    def __check_init__(self) -> None:
        if self.observe not in ("prey", "both"):
            raise ValueError(f"observe is {self.observe!r}, expected 'prey' or 'both'.")
        if not self.dt > 0:
            raise ValueError(f"dt is {self.dt}, expected a positive time between observations.")
        if self.event_cap < 1:
            raise ValueError(f"event_cap is {self.event_cap}, expected at least 1.")
        if len(self.start) != 2 or min(self.start) < 0:
            raise ValueError(f"start is {self.start}, expected counts (predators, prey) >= 0.")
        for name, value in self.parameters.items():
            if not isinstance(value, jax.Array) and not (value.shape == () and value >= 0):
                raise ValueError(f"{name} = {value.tolist()}, expected one number >= 0.")

    def sample_initial(self, key: Key[Array, ""], theta: Theta) -> Float[Array, "2"]:
        """The known start."""
        return jnp.asarray(self.start, dtype=float)

    def sample_transition(
        self, key: Key[Array, ""], state: Array, theta: Theta, t: ArrayLike, u: Any
    ) -> Float[Array, "2"]:
        """One interval of the exact reactions, on the host: a batch is one call."""
        rates = jnp.stack([real(theta[f"rho{r}"]) for r in (1, 2, 3, 4)])
        return jax.pure_callback(
            _host_transition(self.dt, self.event_cap),
            jax.ShapeDtypeStruct((2,), state.dtype),
            jax.random.key_data(key),
            state,
            rates,
            vmap_method="broadcast_all",
        )

    def sample_observation(
        self, key: Key[Array, ""], state: Array, theta: Theta, t: ArrayLike, u: Any
    ) -> Array:
        """Counts plus noise, of shape () or (2,)."""
        seen = self._seen(state)
        return seen + real(theta["noise_sd"]) * jax.random.normal(key, seen.shape)

    def log_observation(
        self, y: Array, state: Array, theta: Theta, t: ArrayLike, u: Any
    ) -> Float[Array, ""]:
        """Independent normal errors around the counts."""
        return jnp.sum(jax.scipy.stats.norm.logpdf(y, self._seen(state), real(theta["noise_sd"])))

    def _seen(self, state: Array) -> Array:
        return state[1] if self.observe == "prey" else state


@lru_cache
def _host_transition(dt: float, event_cap: int) -> Callable[..., np.ndarray]:
    """The reactions as JAX calls them: one function for equal options, so nothing is compiled twice."""

    def transition(seeds: Any, states: Any, rates: Any) -> np.ndarray:
        from tsnl.models.gillespie import react  # numba is slow to import

        seeds, states, rates = np.asarray(seeds), np.asarray(states), np.asarray(rates)
        rows = (seeds.reshape(-1, 2), states.reshape(-1, 2), rates.reshape(-1, 4))
        new, _ = react(*rows, dt, event_cap)
        return new.reshape(states.shape).astype(states.dtype)

    return transition
