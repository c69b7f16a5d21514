"""sbijax: its sequential neural likelihood of the whole series.

As its documentation has it: `nle` with `make_maf`'s defaults, `run_sequential` and `train` with theirs
(early stopping), NUTS for proposals and for the posterior; five rounds of equal size. It cannot leave a
failed simulation out, so that one is given as a series at the median.
"""

import warnings

import numpy as np
from jax import numpy as jnp
from jax import random as jr
from sbijax import nle, run_sequential, sample
from sbijax.mcmc import make_sampler, nuts
from sbijax.nn import make_maf
from task import DRAWS, Task
from tensorflow_probability.substrates.jax import distributions as tfd

ROUNDS = 5


def main() -> None:
    """Simulate and train round by round, then draw."""
    warnings.simplefilter("ignore")
    task = Task()
    law = tfd.Normal(jnp.zeros(task.size), jnp.ones(task.size))
    prior = tfd.JointDistributionNamed({"theta": law}, batch_ndims=0)

    def simulate(seed, theta):  # the simulator has a seed of its own
        series = task.eased(task.simulate(np.asarray(theta["theta"])))
        return jnp.nan_to_num(jnp.asarray(series.reshape(len(series), -1)))

    seen = jnp.asarray(task.eased(task.observed).ravel())
    estimator, sampler = nle(make_maf(seen.size)), make_sampler(nuts, prior=prior)
    key_fit, key_draw = jr.split(jr.key(task.seed))
    task.start()
    params, _ = run_sequential(
        key_fit, estimator, prior, simulate, seen,
        n_rounds=ROUNDS, n_simulations_per_round=task.budget // ROUNDS, sampler=sampler,
    )  # fmt: skip
    found, _ = sample(key_draw, estimator, params, seen, sampler=sampler)
    w = np.asarray(found["theta"]).reshape(-1, task.size)
    task.finish(w=w[np.linspace(0, len(w) - 1, DRAWS).astype(int)])


if __name__ == "__main__":
    main()
