"""The law of a row given its state: the model's own, or learned from the views of simulated paths."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from tsnl.kernel import KernelSpec, Mixture, fit_scaling
from tsnl.kernel.examples import Simulated as Arrays
from tsnl.kernel.learn import learn
from tsnl.kernel.training import Training
from tsnl.likelihood.observation import (
    KnownObservation,
    LearnedObservation,
    NoObservation,
    Observation,
)
from tsnl.likelihood.transition import Transition
from tsnl.methods.sequential.simulated import Simulated
from tsnl.methods.sequential.transition import BENT, late_paths, whole_paths
from tsnl.models.base import Filterable, StateSpaceModel


def observation_of(
    key: Key[Array, ""],
    model: StateSpaceModel,
    rows: KernelSpec,
    names: tuple[str, ...],
    training: Training,
    simulated: Simulated,
    law: Transition,
    effort: float = 1.0,
) -> Observation:
    """The model's own law where it has one, else a kernel of the rows that is given the states.

    Columns that show an entry of the state without noise are not learned: the transition knows them.

    Args:
        key: a JAX random key.
        model: the model.
        rows: the kernel of rows, which knows what rows are like.
        names: the transform of each of their columns.
        training: how.
        simulated: the paths and their views.
        law: of the states, in whose units they are given.
        effort: share of the training steps to take.

    Raises:
        FloatingPointError: training diverged.
    """
    if isinstance(model, Filterable):
        return KnownObservation(model)
    assert simulated.states is not None
    noisy = tuple(j for j in range(rows.d_y) if j not in law.columns)
    if not noisy:
        return NoObservation()
    chosen, left = whole_paths(simulated), list(noisy)
    states = np.nan_to_num(simulated.states[:, 1:]).astype(jnp.result_type(float))
    units = np.asarray(law.units(jnp.asarray(states)), dtype=float)
    known, views = np.concatenate([simulated.inputs, units], axis=2), simulated.all
    tiled = np.tile(known, (views.num_views, 1, 1))
    data = Arrays(views.series[:, :, left], tiled, views.z, views.num_views)
    spec = KernelSpec(
        head=Mixture(curved=True, bends=BENT),
        memory=(),
        d_y=len(noisy),
        d_u=known.shape[2],
        size=rows.size,
        num_members=training.num_members,
        integer=tuple(rows.integer[j] for j in noisy) if any(rows.integer) else (),
    )
    some = late_paths(simulated, chosen)
    own = tuple(names[j] for j in noisy)
    scaling = fit_scaling(simulated.series[some][:, :, left], simulated.z[some], own, known[some])
    given = (scaling, data, chosen, (), training, effort)
    kernel, _ = learn(key, np.random.default_rng(0), spec, *given)
    return LearnedObservation(kernel, law, noisy)
