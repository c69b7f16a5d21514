"""sbijax: its sequential neural likelihood of the whole series.

As its tutorial has it: a masked autoregressive flow with `make_maf`'s defaults, `fit` with its defaults
(early stopping), NUTS for proposals and for the posterior; five rounds of equal size.
"""

import warnings

import numpy as np
from jax import numpy as jnp
from jax import random as jr
from sbijax import NLE, inference_data_as_dictionary
from sbijax.nn import make_maf
from task import DRAWS, Task
from tensorflow_probability.substrates.jax import distributions as tfd

ROUNDS = 5


def main() -> None:
    """Simulate and train round by round, then draw."""
    warnings.simplefilter("ignore")
    task = Task()

    def prior() -> tfd.Distribution:
        law = tfd.Normal(jnp.zeros(task.size), jnp.ones(task.size))
        return tfd.JointDistributionNamed({"theta": law}, batch_ndims=0)

    def simulate(seed, theta):
        series = task.simulate(np.asarray(theta["theta"]))
        return jnp.asarray(task.eased(series).reshape(len(series), -1))

    seen = jnp.asarray(task.eased(task.observed).ravel())
    model = NLE((prior, simulate), make_maf(seen.size))
    keys = jr.split(jr.PRNGKey(task.seed), 2 * ROUNDS + 1)
    data, params = None, None
    task.start()
    for round_ in range(ROUNDS):
        data, _ = model.simulate_data_and_possibly_append(
            keys[2 * round_],
            params=params,
            observable=seen,
            data=data,
            n_simulations=task.budget // ROUNDS,
        )
        good = np.isfinite(np.asarray(data["y"])).all(axis=1)
        data = {"y": data["y"][good], "theta": {"theta": data["theta"]["theta"][good]}}
        params, _ = model.fit(keys[2 * round_ + 1], data=data)
    found, _ = model.sample_posterior(keys[-1], params, seen)
    w = np.asarray(inference_data_as_dictionary(found.posterior)["theta"]).reshape(-1, task.size)
    task.finish(w=w[np.linspace(0, len(w) - 1, DRAWS).astype(int)])


if __name__ == "__main__":
    main()
