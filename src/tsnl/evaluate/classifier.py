"""A small network that tells two samples apart, cross-validated, all folds side by side."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from tsnl.runtime.seeds import key_of


def accuracy(
    x: Float[np.ndarray, "n size"],
    label: Float[np.ndarray, " n"],
    seed: int,
    num_folds: int,
    width: int,
    num_steps: int,
) -> float:
    """Share of held-out points that are labelled rightly, over all folds."""
    order = np.random.default_rng(seed).permutation(len(x))
    fold = np.empty(len(x), dtype=int)
    fold[order] = np.arange(len(x)) % num_folds
    held = jnp.asarray(fold[None] == np.arange(num_folds)[:, None])
    keys = jax.random.split(key_of(seed), num_folds)
    arrays = jnp.asarray(x, dtype=float), jnp.asarray(label, dtype=float)
    logits = _logits(keys, *arrays, held, width, num_steps)
    right = (np.asarray(logits) > 0) == (label > 0.5)
    return float(np.mean([right[k][fold == k].mean() for k in range(num_folds)]))


def told_apart(
    p: Float[np.ndarray, "n size"],
    q: Float[np.ndarray, "n size"],
    *,
    seed: int = 0,
    num_blocks: int = 5,
    width: int = 32,
    num_steps: int = 600,
) -> tuple[int, int]:
    """In how many of how many pairs a network says rightly which one is of q, block after block.

    It learns from the blocks of pairs before and is asked about the next. Where the two of a pair could
    be exchanged, each answer is right with probability one half whatever was learned before, so the
    number of right ones is binomial, exactly; cross-validation, whose folds learn from each other's
    answers, has no such law. Pairs that are the same, or look so to the network, are not counted.
    """
    both = np.stack([p, q])
    both = (both - both.mean(axis=(0, 1))) / (both.std(axis=(0, 1)) + 1e-12)  # the same if exchanged
    block = np.empty(len(p), dtype=int)
    order = np.random.default_rng(seed).permutation(len(p))
    block[order] = np.arange(len(p)) * num_blocks // len(p)
    asked = np.arange(1, num_blocks)
    unseen = jnp.asarray(np.tile(block, 2)[None] >= asked[:, None])
    label = np.repeat([0.0, 1.0], len(p))
    keys = jax.random.split(key_of(seed), len(asked))
    arrays = jnp.asarray(both.reshape(-1, p.shape[1]), dtype=float), jnp.asarray(label, dtype=float)
    logits = np.asarray(_logits(keys, *arrays, unseen, width, num_steps)).reshape(len(asked), 2, -1)
    gaps = (logits[:, 1] - logits[:, 0])[np.maximum(block - 1, 0), np.arange(len(p))]
    counted = (block > 0) & (p != q).any(axis=1) & (gaps != 0)
    return int((gaps[counted] > 0).sum()), int(counted.sum())


@partial(jax.jit, static_argnames=("width", "num_steps"))
def _logits(
    keys: Array, x: Array, label: Array, held: Array, width: int, num_steps: int
) -> Float[Array, "folds n"]:
    optimiser = optax.adamw(optax.cosine_decay_schedule(1e-2, num_steps), weight_decay=1e-2)
    sizes = (x.shape[1], width, width, 1)

    def network(weights: list, x: Array) -> Array:
        for i, (w, b) in enumerate(weights):
            x = x @ w + b
            x = jax.nn.relu(x) if i < len(weights) - 1 else x
        return x[:, 0]

    def one(key: Array, out: Array) -> Array:
        weights = [
            (jax.random.normal(k, (a, b)) * jnp.sqrt(2 / a), jnp.zeros(b))
            for k, a, b in zip(jax.random.split(key, 3), sizes[:-1], sizes[1:], strict=True)
        ]

        def loss(weights: list) -> Array:
            value = optax.sigmoid_binary_cross_entropy(network(weights, x), label)
            return jnp.sum(jnp.where(out, 0.0, value)) / jnp.sum(~out)

        def step(carry: tuple, _: None) -> tuple[tuple, None]:
            weights, state = carry
            updates, state = optimiser.update(jax.grad(loss)(weights), state, weights)
            return (optax.apply_updates(weights, updates), state), None

        (weights, _), _ = jax.lax.scan(step, (weights, optimiser.init(weights)), length=num_steps)
        return network(weights, x)

    return jax.vmap(one)(keys, held)
