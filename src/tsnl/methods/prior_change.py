"""Draws under another prior, by weights: no simulation, no kernel, no new chain."""

import warnings
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tsnl.kernel.lag import LagChoice
from tsnl.methods.api import Inference, Outcome
from tsnl.methods.particle.correct import moved, moved_words
from tsnl.problem import Prior, Problem
from tsnl.problem.draws import constrained
from tsnl.runtime.checked import check_seed
from tsnl.sampling.importance import MAX_K_HAT, Weights

TRIED = 256  # draws of the new prior that must lie in the old one's support


def reweighed(result: Inference, prior: Any, seed: int) -> tuple[Problem, Outcome]:
    """The question with another prior, and its answer; see `Result.with_prior`."""
    old = result.problem.prior
    _check(old, prior)
    flat = {name: value.reshape(-1, *value.shape[2:]) for name, value in result.draws.items()}
    ratio = _log_probs(prior, flat) - _log_probs(old, flat)
    weights = Weights.of(ratio)
    rng = np.random.default_rng(check_seed(seed))
    place = weights.pick(rng, len(ratio))
    before = result.unconstrained().reshape(len(ratio), -1)
    z = prior.unconstrain_all({name: value[place] for name, value in flat.items()}, check=False)
    posterior = result.posterior
    if posterior is not None and np.allclose(z, before[place], rtol=1e-4, atol=1e-4):
        posterior = replace(posterior, prior=prior)
    else:  # another support is another z, which the likelihood does not know
        posterior = None
    record: dict[str, Any] = {
        "stage": "other prior",
        "draws": len(ratio),
        "k_hat": weights.k_hat,
        "ess": weights.ess,
        "log_evidence_change": weights.log_mean,
        "cost": result.cost,
        **moved(before, before[place][None]),
    }
    if "log_evidence" in result.history[-1]:
        known = result.history[-1]
        record["log_evidence"] = known["log_evidence"] + weights.log_mean
        record["log_evidence_se"] = float(np.hypot(known["log_evidence_se"], weights.log_mean_se))
        record["num_particles"] = known["num_particles"]
    status = _status(record)
    if not weights.usable:
        warnings.warn(status, stacklevel=4)
    outcome = Outcome(
        z=z[None],
        log_density=np.full((1, len(z)), np.nan),
        cost=result.cost,
        status=status,
        history=[*result.history, record],
        posterior=posterior,
        lag=None if result.lag is None else LagChoice(*result.lag, {}),
        arrays=dict(result.arrays),
    )
    return replace(result.problem, prior=prior), outcome


def _check(old: Prior, new: Any) -> None:
    if not isinstance(new, Prior):
        raise TypeError(f"prior is a {type(new).__name__}, expected tsnl.Prior(name=distribution, ...).")
    if set(new.names) != set(old.names):
        raise ValueError(
            f"The prior is over {sorted(new.names)}, the draws are of {sorted(old.names)}: give one "
            f"over the same."
        )
    tried = constrained(new, new.sample_unconstrained(jax.random.key(0), TRIED)[None])
    try:
        old.unconstrain_all({name: value[0] for name, value in tried.items()})
    except ValueError as error:
        raise ValueError(
            f"The other prior reaches where the old one did not, and so did no draw ({error}) Infer "
            f"anew with it."
        ) from error


def _log_probs(prior: Prior, theta: dict[str, np.ndarray]) -> Float[np.ndarray, " n"]:
    """The log-density of each row, -inf outside the support."""

    def one(row: dict[str, Array]) -> Float[Array, ""]:
        inside = []
        for names, law in prior.distributions:
            value = row[names[0]] if len(names) == 1 else jnp.stack([row[name] for name in names], -1)
            support: Any = law.support
            inside.append(jnp.all(support(value)))
        return jnp.where(jnp.all(jnp.stack(inside)), prior.log_prob(row), -jnp.inf)

    return np.asarray(jax.jit(jax.vmap(one))(theta), dtype=np.float64)


def _status(record: dict[str, Any]) -> str:
    text = f"under another prior: k-hat {record['k_hat']:.2f}, effective size {record['ess']:.0f} of "
    text += f"{record['draws']:,} draws; {moved_words(record)}"
    if record["k_hat"] > MAX_K_HAT:
        text += "; k-hat is above 0.7: these draws do not reach the other prior's posterior, infer anew"
    return text
