"""pypomp: particle MCMC on tsnl's own JAX laws, with its adaptive random walk.

A simulation is T calls of the dynamics, so a filter of 100 particles costs as much as 100 simulations.
Its environment holds tsnl too, for the laws; z is the unconstrained vector of tsnl's prior. One chain
from a draw of the prior, the first fifth left out; `MVNRWAdaptive` with its defaults.
"""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pypomp as pp
from jax.flatten_util import ravel_pytree
from pypomp.proposals import MVNRWAdaptive

from benchmarks.peers.problems import Question, question
from benchmarks.peers.task import Task

FILTER = 100


def pomp_of(asked: Question, start: np.ndarray) -> pp.Pomp:
    """The question in the package's terms: named scalars for parameters, states and columns."""
    names = [f"z{i}" for i in range(asked.prior.size)]
    example = asked.model.sample_initial(
        jax.random.key(0), asked.model.complete(asked.prior.constrain(start))
    )
    flat, unravel = ravel_pytree(jax.tree.map(lambda x: jnp.asarray(x, dtype=float), example))
    states = [f"x{i}" for i in range(len(flat))]

    def z_of(theta_):
        return jnp.stack([theta_[name] for name in names])

    def full(theta_):
        return asked.model.complete(asked.prior.constrain(z_of(theta_)))

    def named(state):
        return dict(zip(states, ravel_pytree(state)[0], strict=True))

    def rinit(theta_, key, covars, t0):
        return named(asked.model.sample_initial(key, full(theta_)))

    def rproc(X_, theta_, key, covars, t, dt):
        state = unravel(jnp.stack([X_[name] for name in states]))
        return named(asked.model.sample_transition(key, state, full(theta_), t + dt, None))

    def dmeas(Y_, X_, theta_, covars, t):
        state = unravel(jnp.stack([X_[name] for name in states]))
        y = jnp.stack([Y_[f"y{j}"] for j in range(asked.series.shape[1])])
        y = y if asked.series.shape[1] > 1 else y[0]
        return asked.model.log_observation(y, state, full(theta_), t, None)

    def dprior(theta_):
        return asked.prior.log_prob_unconstrained(z_of(theta_))

    times = np.arange(1, len(asked.series) + 1, dtype=float)
    columns = [f"y{j}" for j in range(asked.series.shape[1])]
    return pp.Pomp(
        ys=pd.DataFrame(asked.series, index=times, columns=columns),
        theta=pp.PompParameters({name: float(v) for name, v in zip(names, start, strict=True)}),
        statenames=states, t0=0.0, nstep=1, rinit=rinit, rproc=rproc, dmeas=dmeas, dprior=dprior,
    )  # fmt: skip


def main() -> None:
    """Run one chain."""
    warnings.simplefilter("ignore")
    task = Task()
    asked = question(task.problem, task.seed)
    start = np.asarray(asked.prior.sample_unconstrained(jax.random.key(task.seed), 1)[0])
    spread = np.atleast_2d(np.cov(asked.prior.sample_unconstrained(jax.random.key(1), 1000).T))
    names = [f"z{i}" for i in range(task.size)]
    model, steps = pomp_of(asked, start), task.budget // FILTER
    task.start()
    proposal = MVNRWAdaptive(rw_var=0.05 * spread, param_names=names)
    model.pmcmc(J=FILTER, M=steps, proposal=proposal, key=jax.random.key(task.seed))
    traces = model.results_history[-1].traces_da.sel(variable=names).to_numpy()[0]
    task.used = steps * FILTER
    task.finish(z=traces[steps // 5 :])


if __name__ == "__main__":
    main()
