"""Ten parameters: the mixed kernel and the random walk on a normal law with scales from 0.1 to 1.

    python benchmarks/many_parameters.py

Default options, started at draws far wider than the law, three keys. Writes many_parameters.json.
"""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import tsnl
from tsnl.sampling import sample

SCALES = np.geomspace(0.1, 1.0, 10)


def log_density(z):
    """Of the normal law, up to a constant."""
    return -0.5 * jnp.sum((z / jnp.asarray(SCALES, dtype=float)) ** 2)


def main():
    """Sample with both transitions and write what came out."""
    start = jax.random.normal(jax.random.key(3), (20, len(SCALES)))
    found = {}
    for transition in ("mixed", "random_walk"):
        for seed in range(3):
            options = tsnl.MCMC(transition=transition)
            spread = 0.05 * jnp.eye(len(SCALES))
            draws = sample(jax.random.key(seed), log_density, start, spread, options)
            found[f"{transition}, key {seed}"] = {
                "good_enough": draws.healthy,
                "draws_of_a_chain": draws.z.shape[1],
                "r_hat": round(draws.r_hat, 3),
                "ess": round(draws.ess),
            }
    text = json.dumps(found, indent=2)
    (Path(__file__).parent / "many_parameters.json").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
