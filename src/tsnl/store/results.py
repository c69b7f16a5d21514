"""A result as a folder of plain files: JSON, npz and safetensors; nothing is ever unpickled."""

import json
import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tsnl.kernel import Kernel, Region, Scaling
from tsnl.kernel.memory import Past
from tsnl.likelihood.completion import Completion
from tsnl.methods.sequential.learning import Plan
from tsnl.posterior import Posterior
from tsnl.problem import Problem
from tsnl.problem.prior import Prior
from tsnl.simulation import as_simulator
from tsnl.store import codec

FORMAT = 1


def write(folder: Path, result: Any) -> None:
    """Write a `Result`."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {f"draws.{name}": value for name, value in result.draws.items()}
    arrays |= {f"arrays.{name}": value for name, value in result.arrays.items()}
    arrays |= {"log_density": result.log_density}
    arrays |= {f"series.{i}": one for i, one in enumerate(result.problem.panel)}
    arrays |= {f"inputs.{i}": one for i, one in enumerate(result.problem.inputs or ())}
    likelihood = None if result.posterior is None else result.posterior.likelihood
    completion: Completion | None = getattr(likelihood, "completion", None)
    if completion is not None:
        arrays |= {f"completion.{f.name}": getattr(completion, f.name) for f in fields(completion)}
    write_whole(folder / "draws.npz", lambda file: np.savez_compressed(file, **arrays))
    kernel = None if result.posterior is None else result.posterior.kernel
    if kernel is not None:
        write_kernel(folder / "kernel.safetensors", kernel)
    facts = {
        "format": FORMAT,
        "names": list(result.draws),
        "cost": result.cost,
        "status": result.status,
        "lag": None if result.lag is None else list(result.lag),
        "history": result.history,
        "seed": result.seed,
        "method": codec.encode(result.method),
        "prior": or_none(codec.encode_prior, result.problem.prior),
        "model": or_none(codec.encode, result.problem.model),
        "past": None if kernel is None else [kernel.past.lag, list(kernel.past.decays)],
    }
    write_text(folder / "result.json", json.dumps(facts, indent=1))


def read(folder: Path, model: Any, prior: Prior | None) -> dict[str, Any]:
    """The fields of a `Result`.

    Raises:
        ValueError: a file is missing, damaged or of a newer version, or model or prior must be given.
    """
    try:
        facts = json.loads((folder / "result.json").read_text())
        if facts["format"] > FORMAT:
            raise ValueError(f"format {facts['format']}, newer than {FORMAT}: update tsnl")
        return _fields(folder, facts, model, prior)
    except Exception as error:  # whatever is wrong with a file, the user reads which folder it was
        raise ValueError(f"{folder} is no readable run of tsnl: {error}") from error


def _fields(folder: Path, facts: dict[str, Any], model: Any, prior: Prior | None) -> dict[str, Any]:
    for name, given in (("model", model), ("prior", prior)):
        if given is None and facts[name] is None:
            raise ValueError(f"its {name} could not be saved; give it, as in load(path, {name}=...)")
    model = codec.decode(facts["model"]) if model is None else as_simulator(model)
    prior = codec.decode_prior(facts["prior"]) if prior is None else prior
    method = codec.decode(facts["method"])
    with (folder / "draws.npz").open("rb") as file, np.load(file, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    problem = Problem(model, prior, _numbered(arrays, "series"), _numbered(arrays, "inputs") or None)
    return {
        "draws": {name: arrays[f"draws.{name}"] for name in facts["names"]},
        "log_density": arrays["log_density"],
        "cost": facts["cost"],
        "status": facts["status"],
        "lag": None if facts["lag"] is None else (facts["lag"][0], facts["lag"][1]),
        "history": facts["history"],
        "arrays": {name[7:]: value for name, value in arrays.items() if name.startswith("arrays.")},
        "posterior": _posterior(folder, facts["past"], method, problem, _completion(arrays, prior.size)),
        "problem": problem,
        "method": method,
        "seed": facts["seed"],
    }


def _numbered(arrays: dict[str, np.ndarray], name: str) -> tuple[np.ndarray, ...]:
    """All arrays `name.0`, `name.1`, ..., in their order."""
    count = sum(key.startswith(f"{name}.") for key in arrays)
    return tuple(arrays[f"{name}.{i}"] for i in range(count))


def _completion(arrays: dict[str, np.ndarray], size: int) -> Completion | None:
    """The probability of not failing, where it was learned."""
    if "completion.weights" not in arrays:
        return None
    shapes = {"mean": (size,), "scale": (size,), "weights": (1 + size + size * (size + 1) // 2,)}
    found = {name: arrays[f"completion.{name}"] for name in shapes}
    if any(found[name].shape != shape for name, shape in shapes.items()):
        raise ValueError("its probability of not failing does not fit its prior")
    return Completion(**{name: jnp.asarray(value, dtype=float) for name, value in found.items()})


def _posterior(
    folder: Path, past: Any, method: Any, problem: Problem, completion: Completion | None
) -> Posterior | None:
    """The learned one where a kernel was saved, the exact one where the method has it."""
    if past is None:
        return method.posterior(problem) if hasattr(method, "posterior") else None
    plan = method.plan(problem)
    seen = Past(int(past[0]), tuple(past[1]), plan.d_u(problem))
    kernel = read_kernel(folder / "kernel.safetensors", plan, seen, problem)
    return Posterior(problem.prior, plan.likelihood(kernel, problem, completion))


def write_kernel(place: Path, kernel: Kernel) -> None:
    """The weights of a kernel, as safetensors."""
    from safetensors.numpy import save

    leaves = jax.tree.leaves(eqx.filter(kernel, eqx.is_array))
    data = save({f"{i:04d}": np.asarray(x) for i, x in enumerate(leaves)})
    write_whole(place, lambda file: file.write(data))


def write_text(place: Path, text: str) -> None:
    """A text file."""
    write_whole(place, lambda file: file.write(text.encode()))


def write_whole(place: Path, write: Callable[[Any], Any]) -> None:
    """Write a file beside its place, see it onto the disk, and move it there: whole or not at all."""
    beside = place.with_name(f".{place.name}.{os.getpid()}")
    with beside.open("wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(place)


def read_kernel(place: Path, plan: Plan, past: Past, problem: Problem) -> Kernel:
    """A kernel of a plan's shapes with the weights of a file.

    Raises:
        ValueError: they do not fit.
    """
    from safetensors.numpy import load_file

    weights = load_file(place)
    return _fill(_skeleton(plan, past, problem), [weights[key] for key in sorted(weights)])


def _skeleton(plan: Plan, past: Past, problem: Problem) -> Kernel:
    """A kernel of the right shapes."""
    d_y, size = plan.rows(problem.panel[0][None]).shape[2], problem.prior.size
    keys = jax.random.split(jax.random.key(0), plan.training.num_members)
    members = eqx.filter_vmap(lambda k: plan.family.make(k, d_y, past, size))(keys)
    y, z, u = jnp.zeros(d_y), jnp.zeros(size), jnp.zeros(past.d_u)
    scaling = Scaling(y, y, y, z, z, plan.transform, u, u)
    return Kernel(members, scaling, past, Region.unknown(d_y, past), plan.gaps)


def _fill(skeleton: Kernel, leaves: list[np.ndarray]) -> Kernel:
    arrays, static = eqx.partition(skeleton, eqx.is_array)
    places, tree = jax.tree.flatten(arrays)
    if [x.shape for x in places] != [x.shape for x in leaves]:
        raise ValueError("its weights do not fit its options")
    filled = [jnp.asarray(new, dtype=old.dtype) for old, new in zip(places, leaves, strict=True)]
    return eqx.combine(jax.tree.unflatten(tree, filled), static)


def or_none(encode: Any, value: Any) -> Any:
    """The plain form of a value, None where it has none."""
    try:
        return encode(value)
    except codec.NotSavableError:
        return None
