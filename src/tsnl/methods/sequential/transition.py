"""The law of the next state, learned from the states of simulated paths."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from tsnl.kernel import Kernel, KernelSpec, Lags, Mixture, Scaling, fit_scaling
from tsnl.kernel.examples import Simulated as Arrays
from tsnl.kernel.held_out import held_out_scores
from tsnl.kernel.learn import learn
from tsnl.kernel.scaling import CUT, MOVES
from tsnl.kernel.training import Training
from tsnl.likelihood.transition import (
    LEARNED,
    Transition,
    order_learned,
    repeated_entries,
    seen_entries,
)
from tsnl.methods.sequential.simulated import Simulated

FEWEST_PATHS = 10
LONGER, MORE = 4, 1.4  # times the epochs and the fewest steps, and the most steps, of a kernel of rows
REACH, USUAL = 5.0, 0.75  # times how far so many of the late paths go, where one is no longer followed
TRIED = 0.25  # share of the steps that a scale of the states is tried with
BENT = 16  # bent combinations of a state's entries
BENDS = 32  # of them, random, for what time adds


def has_paths(simulated: Simulated) -> bool:
    """Whether there are states enough to learn from."""
    return simulated.states is not None and int(whole_paths(simulated).sum()) >= FEWEST_PATHS


def whole_paths(simulated: Simulated) -> Bool[np.ndarray, " capacity"]:
    """Which simulations reached their end, with all their states."""
    assert simulated.states is not None
    ends = np.isfinite(simulated.series).all(axis=(1, 2))
    return ends & np.isfinite(simulated.states).all(axis=(1, 2))


def learn_transition(
    key: Key[Array, ""], size: int, training: Training, simulated: Simulated, effort: float = 1.0
) -> Transition:
    """A kernel of lag one of the states x_0..x_T, in which inputs of x_0 are those of x_1.

    Entries that repeat one of the time before are not learned; those that rows show come first. Positive
    ones are on the scale, their own or logarithmic, that predicts held-out paths better.

    Args:
        key: a JAX random key.
        size: number of parameters.
        training: how.
        simulated: the paths.
        effort: share of the training steps to take.

    Raises:
        FloatingPointError: training diverged.
        ValueError: there is nothing to learn: the state never changes.
    """
    assert simulated.states is not None
    training, chosen = longer(training), whole_paths(simulated)
    sources = repeated_entries(simulated.states[chosen])
    columns = seen_entries(simulated.states[chosen], simulated.series[chosen], sources)
    free, carried = order_learned(sources, columns), np.flatnonzero(np.array(sources) != LEARNED)
    if not len(free):
        raise ValueError("The state never changes.")
    inputs = np.concatenate([simulated.inputs[:, :1], simulated.inputs], axis=1)
    known = np.concatenate([inputs, np.nan_to_num(simulated.states[:, :, carried])], axis=2)
    data = Arrays(simulated.states[:, :, free], known, simulated.z)
    spec = _spec(data.series[chosen], known.shape[2], size, training.num_members)
    names, logs = ("none",) * spec.d_y, logarithmic(data.series[chosen], spec.integer)
    near = data._replace(series=followed(data.series, late_paths(simulated, chosen), logs))

    def fitted(names: tuple[str, ...], share: float) -> Kernel:
        own, scaling = _scaled(spec, simulated, data, chosen, names)
        rng = np.random.default_rng(0)  # the same paths held out
        return learn(key, rng, own, scaling, near, chosen, (), training, share)[0]

    if logs != names:
        tried = [fitted(each, TRIED * effort) for each in (names, logs)]
        scores = held_out_scores(key, tried, near, chosen, training.held_out)
        names = logs if scores[1].mean() > scores[0].mean() else names
    return Transition(fitted(names, effort), sources, columns)


def late_paths(
    simulated: Simulated, chosen: Bool[np.ndarray, " capacity"]
) -> Bool[np.ndarray, " capacity"]:
    """Those of later rounds, which are nearer the posterior, if they are enough."""
    late = chosen & (simulated.round_ >= simulated.round_.max() // 2)
    return late if late.sum() >= FEWEST_PATHS else chosen


def followed(
    states: Float[np.ndarray, "n times d_x"],
    late: Bool[np.ndarray, " n"],
    logs: tuple[str, ...],
) -> Float[np.ndarray, "n times d_x"]:
    """Paths until they leave where the posterior's are, NaN from the row after that on.

    A path that explodes says nothing of the law near the posterior, and its residuals drown all others.
    What is left out depends on the states before a row and never on the row itself, so that the law of
    the rows that are kept is the same. How far paths go is measured on the scale of `logs`.
    """
    logged = np.array(logs) == "log"
    scaled = np.where(logged, np.log(np.where(logged, states, 1.0)), states)
    with np.errstate(invalid="ignore"):
        off = np.abs(scaled - np.median(scaled[late], axis=(0, 1)))
        reach = REACH * np.quantile(off[late].max(axis=1), USUAL, axis=0)
        left = ((off > reach) & (reach > 0)).any(axis=2)
    gone = np.cumsum(left, axis=1) - left > 0
    return np.where(gone[:, :, None], np.nan, states)


def logarithmic(states: Float[np.ndarray, "n times d_x"], integer: tuple[bool, ...]) -> tuple[str, ...]:
    """The transforms that put all positive entries on a logarithmic scale, counts aside."""
    counts = integer or (False,) * states.shape[2]
    lowest = states.min(axis=(0, 1))
    return tuple("log" if lowest[j] > 0 and not counts[j] else "none" for j in range(len(counts)))


def longer(training: Training) -> Training:
    """More steps than for rows: a sharp law is learned to more digits, from small networks."""
    least = LONGER * training.min_steps
    return replace(
        training,
        num_epochs=LONGER * training.num_epochs,
        min_steps=least,
        max_steps=max(least, round(MORE * training.max_steps)),
    )


def _spec(states: Float[np.ndarray, "n times d_x"], d_u: int, size: int, num_members: int) -> KernelSpec:
    integer = tuple((states == np.round(states)).all(axis=(0, 1)).tolist())
    return KernelSpec(
        head=Mixture(curved=True, bends=BENT),
        memory=(Lags(1),),
        d_y=states.shape[2],
        d_u=d_u,
        size=size,
        num_members=num_members,
        integer=integer if any(integer) else (),
    )


def _scaled(
    spec: KernelSpec,
    simulated: Simulated,
    data: Arrays,
    chosen: Bool[np.ndarray, " capacity"],
    names: tuple[str, ...],
) -> tuple[KernelSpec, Scaling]:
    """Units from where the posterior is, and what time says."""
    some = late_paths(simulated, chosen)
    known = data.inputs[some] if spec.d_u else None
    scaling = fit_scaling(data.series[some], data.z[some], names, known)
    profile = time_profile(
        np.asarray(scaling.standardise(jnp.asarray(data.series[chosen], dtype=float)))
    )
    if profile is None:
        return spec, scaling
    known_times = jnp.asarray(profile, dtype=float)
    return replace(spec, profile=profile.shape), replace(scaling, profile=known_times)


def time_profile(x: Float[np.ndarray, "n times d_x"]) -> Float[np.ndarray, "times d_x"] | None:
    r"""What time alone adds to the next state, standardised; None where that is no more than chance.

    In \(x_t = f(x_{t-1}) + g_t + \text{noise}\), with f a combination of random bent functions, the
    differences from the means over paths at each time give f, and those means then give g.
    """
    n, rows, d_x = x.shape
    if n < FEWEST_PATHS or rows < 3:
        return None
    x = x.clip(-CUT, CUT).astype(float)
    rng = np.random.default_rng(0)
    bent = np.tanh(x[:, :-1] @ rng.normal(size=(d_x, BENDS)) + rng.normal(size=BENDS))
    before, after = np.concatenate([x[:, :-1], bent], axis=2), x[:, 1:]
    features, targets = before - before.mean(axis=0), after - after.mean(axis=0)
    features, targets = features.reshape(-1, features.shape[2]), targets.reshape(-1, d_x)
    ridge = 1e-3 * len(features) * np.eye(features.shape[1])
    weights = np.linalg.solve(features.T @ features + ridge, features.T @ targets)
    noise = (targets - features @ weights).var(axis=0)
    found = after.mean(axis=0) - before.mean(axis=0) @ weights
    found = found - found.mean(axis=0)
    if not (found.var(axis=0) > MOVES * noise / n).any():
        return None
    found /= found.std(axis=0) + 1e-3
    return np.concatenate([np.zeros((1, d_x)), found])
