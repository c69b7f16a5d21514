"""From a seed that people give to a key."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from tsnl.runtime.checked import check_seed

WORD = 2**32


def key_of(seed: Any) -> Key[Array, ""]:
    """The key of a seed, all of whose digits count: `jax.random.key` takes 32 bits of it."""
    number = check_seed(seed)
    if number < WORD:
        return jax.random.key(number)
    words = divmod(number, WORD)
    if number >= WORD**2:
        words = tuple(np.random.SeedSequence(number).generate_state(2).tolist())
    return jax.random.wrap_key_data(jnp.array(words, dtype=jnp.uint32), impl="threefry2x32")
