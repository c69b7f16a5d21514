"""Masked autoregressive flows: affine as in the paper, and with rational-quadratic splines."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from tsnl.kernel.heads.base import Groups, Head, num_features
from tsnl.runtime.checked import DEEPEST, check_fields
from tsnl.store.registry import register

ACTIVATIONS: dict[str, Callable] = {"relu": jax.nn.relu, "tanh": jnp.tanh, "silu": jax.nn.silu}


class Flow(Head):
    """A flow of y that sees features and parameters as one vector."""

    flow: Any  # a flowjax distribution

    def log_prob(
        self, y: Float[Array, " d_y"], features: Float[Array, " F"], theta: Float[Array, " size"]
    ) -> Float[Array, ""]:
        """By the change of variables through all layers."""
        return self.flow.log_prob(y, jnp.concatenate([features, theta]))

    def sample(
        self, key: Key[Array, ""], features: Float[Array, " F"], theta: Float[Array, " size"]
    ) -> Float[Array, " d_y"]:
        """Through the layers the other way."""
        return self.flow.sample(key, condition=jnp.concatenate([features, theta]))


@register
@dataclass(frozen=True)
class MAF:
    """The paper's masked autoregressive flow: affine MADE layers.

    For scalar y a stack of affine layers is still affine in y: the density can only be Gaussian.
    """

    num_layers: int = 5
    num_hidden: int = 5
    width: int = 32
    activation: Literal["relu", "tanh", "silu"] = "tanh"

    def __post_init__(self) -> None:
        check_fields(self)
        _check(self.activation, self.num_layers, self.num_hidden, self.width)

    def make(self, key: Key[Array, ""], d_y: int, groups: Groups, size: int) -> Flow:
        """A fresh flow."""
        return Flow(autoregressive(key, self, d_y, num_features(groups) + size))


@register
@dataclass(frozen=True)
class Spline:
    """Autoregressive rational-quadratic splines: not Gaussian in any dimension, linear far out."""

    num_layers: int = 2
    num_hidden: int = 2
    width: int = 32
    activation: Literal["relu", "tanh", "silu"] = "silu"
    num_knots: int = 8
    interval: float = 5.0

    def __post_init__(self) -> None:
        check_fields(self)
        _check(self.activation, self.num_layers, self.num_hidden, self.width)

    def make(self, key: Key[Array, ""], d_y: int, groups: Groups, size: int) -> Flow:
        """A fresh flow."""
        from flowjax.bijections import RationalQuadraticSpline

        spline = RationalQuadraticSpline(knots=self.num_knots, interval=self.interval)
        return Flow(autoregressive(key, self, d_y, num_features(groups) + size, spline))


def autoregressive(
    key: Key[Array, ""], options: MAF | Spline, d_y: int, inputs: int, transformer: Any = None
) -> Any:
    """A flow of d_y dimensions on `inputs` conditioning values."""
    from flowjax.distributions import Normal  # imported where it is used: `import tsnl` stays light
    from flowjax.flows import masked_autoregressive_flow

    return masked_autoregressive_flow(
        key,
        base_dist=Normal(jnp.zeros(d_y)),
        transformer=transformer,
        cond_dim=inputs,
        flow_layers=options.num_layers,
        nn_width=options.width,
        nn_depth=options.num_hidden,
        nn_activation=ACTIVATIONS[options.activation],
        invert=True,
    )


def _check(activation: str, *counts: int) -> None:
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation is {activation!r}, expected one of {sorted(ACTIVATIONS)}.")
    if min(counts) < 1 or max(counts[:2]) > DEEPEST:
        raise ValueError(
            f"num_layers, num_hidden and width are {counts}, expected at least 1, and at most {DEEPEST} "
            f"layers."
        )
