"""A result as a folder of plain files: JSON, npz and safetensors; nothing is ever unpickled."""

import hashlib
import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import tsnl.methods  # registers what a file may name
import tsnl.models  # noqa: F401
from tsnl.kernel import Kernel
from tsnl.likelihood.completion import Completion
from tsnl.likelihood.correction import Correction
from tsnl.likelihood.surrogate import SurrogateLikelihood
from tsnl.methods.api import Inference, Method
from tsnl.posterior import Posterior
from tsnl.problem import Prior, Problem
from tsnl.problem.draws import unconstrained
from tsnl.problem.series import as_rows
from tsnl.problem.times import Times
from tsnl.simulation import as_simulator
from tsnl.store import codec
from tsnl.store.files import digest, read_json, read_npz, write_json, write_npz

FORMAT = 6
KERNEL, DRAWS, RESULT, RUN = "kernel.safetensors", "draws.npz", "result.json", "run.json"


def mark_of(question: dict[str, Any]) -> str:
    """What all files of one run carry: a hash of the question that it answers, as JSON."""
    return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()


def check_same_run(folder: Path, facts: dict[str, Any]) -> None:
    """Raise ValueError where a result lies in the folder of another run."""
    if (folder / RUN).exists() and facts.get("run") != mark_of(read_json(folder / RUN)["question"]):
        raise ValueError(
            f"{folder / RESULT} and {folder / RUN} are of different runs: move one of them to a folder "
            f"of its own."
        )


def encode_prior(prior: Prior) -> list[dict[str, Any]]:
    """A prior as JSON; NotSavableError where a distribution has no plain form."""
    return [{"names": list(names), **codec.encode(d)} for names, d in prior.distributions]


def decode_prior(sites: list[dict[str, Any]]) -> Prior:
    """The other way."""
    pairs = [(tuple(s["names"]), {k: v for k, v in s.items() if k != "names"}) for s in sites]
    joint: dict[tuple[str, ...] | str, Any] = {
        names: codec.decode(d) for names, d in pairs if len(names) > 1
    }
    alone = {names[0]: codec.decode(d) for names, d in pairs if len(names) == 1}
    return Prior(joint, **alone)


def digests(*places: Path) -> dict[str, str]:
    """Name and hash of files: another file, which has them, binds these to itself."""
    return {place.name: digest(place) for place in places}


def check_digests(folder: Path, expected: dict[str, str]) -> None:
    """Raise ValueError where files of a folder are not those that they should be."""
    for name, value in expected.items():
        if digest(folder / Path(name).name) != value:
            raise ValueError(f"{name} is not the file that was written with it")


def write(folder: Path, result: Inference, run: str | None = None) -> None:
    """Write a `Result`; what cannot be saved is refused before any file is written.

    Args:
        folder: where to.
        result: what.
        run: the mark of the run that it is the end of; None for a folder of its own.

    Raises:
        NotSavableError: the method, or something among its options, has no plain form.
        FileExistsError: the folder is that of a run, and the result is to have one of its own.
    """
    if run is None and (folder / RUN).exists():
        raise FileExistsError(
            f"{folder} is the folder of a run, which keeps its own result: save to another folder."
        )
    kernel = None if result.posterior is None else result.posterior.kernel
    facts = {
        "format": FORMAT,
        "run": run,
        "names": list(result.draws),
        "cost": result.cost,
        "status": result.status,
        "lag": None if result.lag is None else list(result.lag),
        "history": result.history,
        "seed": result.seed,
        "method": codec.encode(result.method, functions=True),
        "prior": codec.or_none(encode_prior, result.problem.prior),
        "model": codec.or_none(codec.encode, result.problem.model),
        "kernel": None if kernel is None else codec.encode(kernel.spec),
        "columns": list(result.problem.columns),
        "times": [None if one is None else one.to_json() for one in result.problem.times],
        "versions": dict(result.versions),
    }
    json.dumps(facts)  # or nothing is written
    folder.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {f"draws.{name}": value for name, value in result.draws.items()}
    arrays |= {f"arrays.{name}": value for name, value in result.arrays.items()}
    arrays |= {"log_density": result.log_density, **series_arrays(result.problem)}
    write_npz(folder / DRAWS, arrays | _learned_arrays(result.posterior))
    (folder / KERNEL).unlink(missing_ok=True)
    if kernel is not None:
        kernel.save(folder / KERNEL)
    files = [folder / DRAWS] + ([] if kernel is None else [folder / KERNEL])
    write_json(folder / RESULT, {**facts, "files": digests(*files)})


def series_arrays(problem: Problem) -> dict[str, np.ndarray]:
    """The observed series and their inputs, by name."""
    arrays = {f"series.{i}": one for i, one in enumerate(problem.panel)}
    return arrays | {f"inputs.{i}": one for i, one in enumerate(problem.inputs or ())}


def read(folder: Path, model: Any, prior: Prior | None) -> dict[str, Any]:
    """The fields of a `Result`.

    Raises:
        ValueError: a file is missing, damaged or of a newer version, or model or prior must be given.
    """
    try:
        facts = read_json(folder / RESULT)
        if facts["format"] != FORMAT:
            which = "newer" if facts["format"] > FORMAT else "older"
            raise ValueError(f"format {facts['format']}, {which} than {FORMAT}: use that tsnl")
        check_same_run(folder, facts)
        check_digests(folder, facts["files"])
        return _fields(folder, facts, model, prior)
    except Exception as error:  # whatever is wrong with a file, the user reads which folder it was
        raise ValueError(f"{folder} is no readable run of tsnl: {error}") from error


def _fields(folder: Path, facts: dict[str, Any], model: Any, prior: Prior | None) -> dict[str, Any]:
    for name, given in (("model", model), ("prior", prior)):
        if given is None and facts[name] is None:
            raise ValueError(f"its {name} could not be saved; give it, as in load(path, {name}=...)")
    model = as_simulator(codec.decode(facts["model"]) if model is None else model)
    prior = decode_prior(facts["prior"]) if prior is None else prior
    method, arrays = codec.decode(facts["method"]), read_npz(folder / DRAWS)
    if not isinstance(method, Method):
        raise ValueError(f"its method is a {type(method).__name__}")
    panel = tuple(as_rows(one) for one in _numbered(arrays, "series"))
    columns = tuple(str(name) for name in facts.get("columns", ()))
    times = tuple(None if one is None else Times.from_json(one) for one in facts.get("times", ()))
    problem = Problem(model, prior, panel, _numbered(arrays, "inputs") or None, columns, times)
    if columns and len(columns) != problem.d_y:
        raise ValueError(f"it names {len(columns)} columns and has {problem.d_y}")
    if len(times) not in (0, len(panel)):
        raise ValueError(f"it has the times of {len(times)} series and has {len(panel)}")
    draws = {name: arrays[f"draws.{name}"] for name in facts["names"]}
    _check_draws(draws, arrays["log_density"])
    posterior = method.exact_posterior(problem)
    if facts["kernel"] is not None:
        kernel = _kernel(folder / KERNEL, facts["kernel"], problem)
        completion = _completion(arrays, prior.size)
        posterior = Posterior.learned(prior, kernel, problem.panel, problem.inputs, completion)
        posterior = posterior.corrected(_correction(arrays, prior.size))
    if posterior is not None:
        posterior = replace(posterior, z=unconstrained(prior, draws))
    return {
        "draws": draws,
        "log_density": arrays["log_density"],
        "cost": facts["cost"],
        "status": facts["status"],
        "lag": None if facts["lag"] is None else (facts["lag"][0], facts["lag"][1]),
        "history": facts["history"],
        "arrays": {name[7:]: value for name, value in arrays.items() if name.startswith("arrays.")},
        "posterior": posterior,
        "problem": problem,
        "method": method,
        "seed": facts["seed"],
        "versions": {str(name): str(value) for name, value in facts.get("versions", {}).items()},
    }


def _check_draws(draws: dict[str, np.ndarray], log_density: np.ndarray) -> None:
    for name, value in draws.items():
        if value.shape[:2] != log_density.shape or not np.isfinite(value).all():
            raise ValueError(f"its draws of {name} are not finite, or not as many as the others")


def _numbered(arrays: dict[str, np.ndarray], name: str) -> tuple[np.ndarray, ...]:
    """All arrays `name.0`, `name.1`, ..., in their order."""
    count = sum(key.startswith(f"{name}.") for key in arrays)
    return tuple(arrays[f"{name}.{i}"] for i in range(count))


def _learned_arrays(posterior: Posterior | None) -> dict[str, Any]:
    """What a learned likelihood has beside its kernel."""
    likelihood = None if posterior is None else posterior.likelihood
    if not isinstance(likelihood, SurrogateLikelihood):
        return {}
    parts = {"completion": likelihood.completion, "correction": likelihood.correction}
    return {
        f"{name}.{f.name}": np.asarray(getattr(part, f.name))
        for name, part in parts.items()
        if part is not None
        for f in fields(part)
    }


def _correction(arrays: dict[str, np.ndarray], size: int) -> Correction | None:
    """What a filter said beyond the kernel, where it did."""
    if "correction.weights" not in arrays:
        return None
    found = {f.name: arrays[f"correction.{f.name}"] for f in fields(Correction)}
    n = len(found["points"])
    num_terms = 1 + size + size * (size + 1) // 2
    shapes = [(size,), (size, size), (num_terms,), (n, size), (n,), (), ()]
    if [one.shape for one in found.values()] != shapes:
        raise ValueError("its correction does not fit its prior")
    if not all(np.isfinite(one).all() for one in found.values()):
        raise ValueError("its correction has values that are no numbers")
    return Correction(**{name: jnp.asarray(value, dtype=float) for name, value in found.items()})


def _completion(arrays: dict[str, np.ndarray], size: int) -> Completion | None:
    """The probability of not failing, where it was learned."""
    if "completion.weights" not in arrays:
        return None
    shapes = {"mean": (size,), "scale": (size,), "weights": (1 + size + size * (size + 1) // 2,)}
    found = {name: arrays[f"completion.{name}"] for name in shapes}
    if any(found[name].shape != shape for name, shape in shapes.items()):
        raise ValueError("its probability of not failing does not fit its prior")
    return Completion(**{name: jnp.asarray(value, dtype=float) for name, value in found.items()})


def load_kernel(place: Path) -> Kernel:
    """The kernel in a file.

    Raises:
        ValueError: it is damaged, or has weights that are no numbers.
    """
    kernel = Kernel.load(place)
    leaves = jax.tree.leaves(eqx.filter(kernel, eqx.is_array))
    weights = jax.tree.leaves(eqx.filter(kernel.members, eqx.is_array))
    if any(np.isnan(x).any() for x in leaves) or not all(np.isfinite(x).all() for x in weights):
        raise ValueError("its kernel has weights that are not finite")
    return kernel


def _kernel(place: Path, spec: Any, problem: Problem) -> Kernel:
    """The kernel in a file, which must fit what the result says of it, and the problem."""
    kernel = load_kernel(place)
    if codec.encode(kernel.spec) != spec:
        raise ValueError("its kernel and what it says of its kernel do not fit")
    if kernel.spec.size != problem.prior.size:
        raise ValueError(
            f"its kernel is of {kernel.spec.size} parameters, its prior of {problem.prior.size}"
        )
    for one in problem.panel:
        kernel.check_series(one)
    return kernel
