"""What kernels say of simulated series that they have not seen."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from tsnl.kernel.examples import Examples, Simulated
from tsnl.kernel.fitted import Kernel
from tsnl.kernel.learn import prepare, targets_of
from tsnl.kernel.member import KernelSpec, Member
from tsnl.kernel.split import split
from tsnl.kernel.stacked import Part, parts_of, unstacked

MOST_SERIES = 256


class HeldOut(NamedTuple):
    """Series that were held out, one view of each path.

    Attributes:
        series: their places among all.
        member: of each ensemble, one that has not learned from the series.
        rows: which rows of it that member has not seen.
    """

    series: Int[np.ndarray, " n"]
    member: Int[np.ndarray, " n"]
    rows: Bool[np.ndarray, "n T"]


def held_out_series(
    rng: np.random.Generator,
    specs: Sequence[KernelSpec],
    simulated: Simulated,
    chosen: Bool[np.ndarray, " paths"],
    fraction: float,
) -> HeldOut:
    """Those that every one of some kernels was held to, at most `MOST_SERIES`.

    Args:
        rng: as it was before each of the kernels was learned with it: it gives the same split.
        specs: of the kernels. Ensembles of other sizes hold the same series out, as far as both go.
        simulated: the series.
        chosen: those that the kernels learned from.
        fraction: share of the series that each member was held to.
    """
    rows = targets_of(specs[0], simulated, chosen)
    num_members = min(part.num_members for spec in specs for part in parts_of(spec))
    lag = max(spec.lag for spec in specs)
    _, held = split(rng, rows, num_members, fraction, lag, simulated.num_views)
    held = held[:, : len(chosen)]
    series = np.flatnonzero(held.any(axis=(0, 2)))[:MOST_SERIES]
    member = held.any(axis=2).argmax(axis=0)[series]
    return HeldOut(series, member, held[member, series])


def held_out_scores(
    key: Key[Array, ""],
    kernels: Sequence[Kernel],
    simulated: Simulated,
    chosen: Bool[np.ndarray, " paths"],
    fraction: float,
) -> list[Float[np.ndarray, " n"]]:
    """By each kernel, the mean log-score a row of each series held out, in the user's units.

    The kernels must have been learned with `np.random.default_rng(0)` in the place of `rng`.
    """
    specs = [kernel.spec for kernel in kernels]
    held = held_out_series(np.random.default_rng(0), specs, simulated, chosen, fraction)
    found = []
    for kernel in kernels:
        log_q = held_out_rows(key, kernel, simulated, held)
        found.append(np.where(held.rows, log_q, 0.0).sum(axis=1) / held.rows.sum(axis=1))
    return found


def held_out_rows(
    key: Key[Array, ""], kernel: Kernel, simulated: Simulated, held: HeldOut
) -> Float[np.ndarray, "n T"]:
    """The log-density of every row, in the user's units."""
    examples = some_examples(key, kernel, simulated, held)
    rows = kernel.spec.rows(simulated.series[held.series])
    rows = np.nan_to_num(rows).clip(-1e30, 1e30).astype(jnp.result_type(float))
    return np.asarray(
        _rows(unstacked(kernel), kernel, examples, jnp.asarray(held.member), rows), dtype=float
    )


def some_examples(key: Key[Array, ""], kernel: Kernel, simulated: Simulated, held: HeldOut) -> Examples:
    """The series held out, as a kernel learns from them."""
    some = Simulated(*(x[held.series] for x in simulated[:3]))
    return prepare(key, kernel.spec, kernel.scaling, some, np.isfinite(kernel.spec.rows(some.series)))


@eqx.filter_jit
def _rows(
    parts: tuple[Part, ...],
    kernel: Kernel,
    examples: Examples,
    member: Int[Array, " n"],
    rows: Float[Array | np.ndarray, "n T d_y"],
) -> Float[Array, "n T"]:
    jacobian = jnp.sum(kernel.log_jacobian(jnp.asarray(rows)), axis=2)
    each = examples, member
    return jax.lax.map(lambda now: rows_by(parts, *now)(now[0].theta), each) + jacobian


def rows_by(
    parts: tuple[Part, ...], example: Examples, member: Int[Array, ""]
) -> Callable[[Float[Array, " size"]], Float[Array, " T"]]:
    """Log-densities of the rows of one series, by one member of each part, as a function of theta."""
    given = []
    for part in parts:
        arrays, static = eqx.partition(part.members, eqx.is_array)
        own: Member = eqx.combine(jax.tree.map(lambda x: x[member], arrays), static)
        given.append((part.log_weight, own.head, own.features(example.y, example.seen, example.u)))

    def at(theta: Float[Array, " size"]) -> Float[Array, " T"]:
        found = [w + head.log_probs(example.targets, c, theta) for w, head, c in given]
        return jax.nn.logsumexp(jnp.stack(found), axis=0)

    return at
