"""From simulated series to a fitted kernel."""

from collections.abc import Sequence
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from tsnl.kernel.ensemble import Fit, train
from tsnl.kernel.examples import Examples, Simulated, Units, standardise
from tsnl.kernel.fitted import Kernel
from tsnl.kernel.gaps import gap_masks
from tsnl.kernel.heads.base import Rows, StartsFromRows
from tsnl.kernel.member import (
    KernelSpec,
    Member,
    first_of,
    fresh_members,
    has_weights,
    starts_shaped,
    with_frame,
)
from tsnl.kernel.region import ROWS, Region
from tsnl.kernel.scaling import Scaling
from tsnl.kernel.split import split
from tsnl.kernel.training import Training
from tsnl.kernel.views import worth_of_views
from tsnl.runtime.compilation import compiled_lightly

START_ROWS = 16_384  # rows that heads start from, at most


def learn(
    key: Key[Array, ""],
    rng: np.random.Generator,
    spec: KernelSpec,
    scaling: Scaling,
    simulated: Simulated,
    chosen: Bool[np.ndarray, " paths"],
    patterns: Sequence[Bool[np.ndarray, "_ columns"]],
    training: Training,
    effort: float = 1.0,
) -> tuple[Kernel, Fit]:
    """Fit a fresh kernel to the chosen series, in units of where the chosen parameters are.

    Args:
        key: a JAX random key.
        rng: of the split and the gaps.
        spec: what kernel.
        scaling: units of y and of inputs; those of theta are fitted here.
        simulated: the series.
        chosen: which paths to learn from, with all their views.
        patterns: which entries of the observed series are there, for a kernel that learns with gaps.
        training: how.
        effort: share of the training steps to take.
    """
    scaling, groups = centred_at(scaling, simulated.z[: len(chosen)][chosen]), spec.groups()
    targets = targets_of(spec, simulated, chosen)
    use, held = split(rng, targets, spec.num_members, training.held_out, spec.lag, simulated.num_views)
    keys = jax.random.split(key, 3)
    seen = np.isfinite(spec.rows(simulated.series))
    if spec.gaps:
        seen &= gap_masks(rng, patterns, simulated.series.shape[1], len(seen))
    examples = prepare(keys[2], spec, scaling, simulated, seen)
    worth = worth_of_views(examples.y, targets, simulated.num_views)
    members, examples = _start(keys[0], spec, examples, use, worth)
    members, fit = train(keys[1], members, examples, use, held, training, effort, worth)
    region = Region.of(*_some_rows(members, examples, targets), groups)
    return Kernel(members, scaling, region, spec), fit


def prepare(
    key: Key[Array, ""],
    spec: KernelSpec,
    scaling: Scaling,
    simulated: Simulated,
    seen: Bool[np.ndarray, "N T d_y"],
) -> Examples:
    """Simulated series as a kernel of a spec learns from them."""
    dtype = jnp.result_type(float)
    inputs = simulated.inputs[:, :1, :0] if spec.whole else simulated.inputs
    rows = spec.rows(simulated.series).clip(-1e30, 1e30)
    given = Simulated(rows.astype(dtype), inputs.astype(dtype), simulated.z.astype(dtype))
    return standardise(key, spec, scaling, given, seen)


def centred_at(scaling: Scaling, z: Float[np.ndarray, "n size"]) -> Scaling:
    """The units of y and of inputs, with units of theta from where some z lie."""
    dtype = jnp.result_type(float)
    mean, scale = z.mean(axis=0).astype(dtype), z.std(axis=0).astype(dtype) + dtype.type(1e-3)
    return replace(scaling, z_mean=jnp.asarray(mean), z_scale=jnp.asarray(scale))


def targets_of(
    spec: KernelSpec, simulated: Simulated, chosen: Bool[np.ndarray, " paths"]
) -> Bool[np.ndarray, "N T"]:
    """The rows that may be learned from."""
    wanted = np.tile(chosen, simulated.num_views)
    return np.isfinite(spec.rows(simulated.series)).all(axis=2) & wanted[:, None]


def _start(
    key: Key[Array, ""],
    spec: KernelSpec,
    examples: Examples,
    use: Bool[np.ndarray, "M N T"],
    worth: float,
) -> tuple[Member, Examples]:
    """Members to train, who may have looked at the data; features, where they are common to all."""
    if isinstance(spec.head, StartsFromRows):
        arrays, features = _started(key, spec, examples, use, jnp.asarray(worth, dtype=float))
        return with_frame(arrays, spec), replace(examples, features=features)
    members = with_frame(_fresh(key, spec), spec) if starts_shaped(spec) else fresh_members(key, spec)
    return members, replace(examples, features=_common_features(first_of(members), examples))


@compiled_lightly
def _fresh(key: Key[Array, ""], spec: KernelSpec) -> Member:
    """Made in one program."""
    return eqx.filter(fresh_members(key, spec), eqx.is_array)


@compiled_lightly
def _started(
    key: Key[Array, ""],
    spec: KernelSpec,
    examples: Examples,
    use: Bool[Array | np.ndarray, "M N T"],
    worth: Float[Array, ""],
) -> tuple[Member, Float[Array, "N T F"] | None]:
    """Made and started in one program."""
    assert isinstance(spec.head, StartsFromRows)
    start, members = spec.head.start, fresh_members(key, spec)
    features = examples.along(first_of(members))
    rows = _rows(examples, features, jnp.asarray(use).any(axis=0), worth)
    heads = eqx.filter_vmap(lambda head: start(head, rows))(members.head)
    members = eqx.tree_at(lambda m: m.head, members, heads)
    return eqx.filter(members, eqx.is_array), None if has_weights(members.memory) else features


@eqx.filter_jit
def _common_features(member: Member, examples: Examples) -> Float[Array, "N T F"] | None:
    return None if has_weights(member.memory) else examples.along(member)


def _rows(
    examples: Examples,
    features: Float[Array, "N T F"],
    use: Bool[Array, "N T"],
    worth: Float[Array, ""],
) -> Rows:
    """Some of the rows in use, evenly."""
    num_series, length = use.shape
    units = Units.of(use.ravel())
    index = units.evenly(min(START_ROWS, num_series * length))
    series, time = index // length, index % length
    share = worth * units.number / len(index)
    return Rows(examples.y[series, time], features[series, time], examples.theta, series, share)


@eqx.filter_jit
def _some_rows(
    members: Member, examples: Examples, use: Bool[Array | np.ndarray, "N T"]
) -> tuple[Float[Array, "n d_y"], Float[Array, "n F"]]:
    """Rows and their features, by the first member, that describe the training set."""
    index = Units.of(jnp.asarray(use).ravel()).evenly(min(ROWS, use.size))
    series, time = index // use.shape[1], index % use.shape[1]
    features = examples.features
    if features is None:
        features = examples.along(first_of(members))
    return examples.y[series, time], features[series, time]
