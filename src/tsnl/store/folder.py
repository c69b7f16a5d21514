"""The folder of a run while it runs: what is finished is on disk, so that a run cut off can go on.

    run.json            the question and the options
    data.npz            the observed series and their inputs
    simulations/        finished simulations, a file for each chunk of them
    rounds/             draws, records and kernel of each finished round
    result.json, draws.npz, kernel.safetensors      the result, once there is one

Every file is written beside its place and then moved there, so that it is whole or absent. What is
random depends on the seed and on numbers of simulations and rounds alone: a run that goes on comes to
the same draws, to the bit, as one that was never cut off.
"""

import contextlib
import hashlib
import inspect
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tsnl.kernel.lag import LagChoice
from tsnl.kernel.memory import Past
from tsnl.methods.sequential.learning import Plan
from tsnl.methods.sequential.record import Finished
from tsnl.problem import Problem
from tsnl.sampling import Draws
from tsnl.simulation.chunk import Chunk, Failure
from tsnl.simulation.worker import FILE_MODULE
from tsnl.store import codec
from tsnl.store import results as storage
from tsnl.store.results import write_kernel, write_text, write_whole

FORMAT = 1
SCALARS = [f.name for f in fields(Draws) if f.name not in ("z", "log_density")]


class RunFolder:
    """A place for the chunks of simulations (`tsnl.simulation.Store`) and the rounds of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @staticmethod
    def open(path: Path, problem: Problem, method: Any, seed: int, resume: bool) -> "RunFolder":
        """Begin a folder, or go on in one that asks the same question.

        Raises:
            FileExistsError: there is a run already, and it is not to go on.
            ValueError: it is a run of something else, of a newer version, or damaged.
        """
        folder, asked = RunFolder(path), _question(problem, method, seed)
        place = path / "run.json"
        if not place.exists():
            (path / "simulations").mkdir(parents=True, exist_ok=True)
            (path / "rounds").mkdir(exist_ok=True)
            write_whole(path / "data.npz", lambda file: np.savez_compressed(file, **_data(problem)))
            write_text(place, json.dumps(asked, indent=1))
            return folder
        if not resume:
            raise FileExistsError(
                f"{path} holds a run: go on with resume=True (--resume), or choose another folder."
            )
        _compare(path, _read_json(place), asked)
        return folder

    @property
    def finished(self) -> bool:
        """Whether the result is there."""
        return (self.path / "result.json").exists()

    def get(self, first: int, count: int) -> Chunk | None:
        """The stored chunk, or None."""
        place = self.path / "simulations" / f"{first:08d}.npz"
        if not place.exists():
            return None
        found = _read_npz(place)
        theta = {name[6:]: value for name, value in found.items() if name.startswith("theta.")}
        pairs = zip(found["failed"].tolist(), found["reasons"].tolist(), strict=True)
        chunk = Chunk(first, theta, found["series"], tuple(Failure(int(n), str(r)) for n, r in pairs))
        return chunk if chunk.count == count else None

    def put(self, first: int, chunk: Chunk) -> None:
        """Keep a chunk."""
        arrays: dict[str, Any] = {f"theta.{name}": value for name, value in chunk.theta.items()}
        arrays |= {
            "series": chunk.series,
            "failed": np.array([failure.number for failure in chunk.failures], dtype=np.int64),
            "reasons": np.array([failure.reason for failure in chunk.failures], dtype=np.str_),
        }
        place = self.path / "simulations" / f"{first:08d}.npz"
        write_whole(place, lambda file: np.savez(file, **arrays))

    def get_round(self, number: int, plan: Plan, problem: Problem) -> Finished | None:
        """A finished round, or None."""
        place = self.path / "rounds" / f"{number:04d}.json"
        if not place.exists():
            return None
        facts = _read_json(place)
        arrays = _read_npz(place.with_suffix(".npz"))
        try:
            lag = LagChoice(facts["lag"][0], facts["lag"][1], {})
            draws = Draws(arrays["z"], arrays["log_density"], **facts["draws"])
            past = Past(lag.lag, plan.decays, plan.d_u(problem))
            kernel = storage.read_kernel(place.with_suffix(".safetensors"), plan, past, problem)
            return Finished(kernel, draws, facts["record"], lag)
        except Exception as error:
            raise ValueError(
                f"{place} is damaged ({error}): delete it to run that round again."
            ) from error

    def put_round(self, number: int, finished: Finished) -> None:
        """Keep a round; its JSON file comes last, so that where it is, all is."""
        place, draws = self.path / "rounds" / f"{number:04d}.json", finished.draws
        arrays: dict[str, Any] = {"z": draws.z, "log_density": draws.log_density}
        write_whole(place.with_suffix(".npz"), lambda file: np.savez(file, **arrays))
        write_kernel(place.with_suffix(".safetensors"), finished.kernel)
        facts = {
            "draws": {name: getattr(draws, name) for name in SCALARS},
            "record": finished.record,
            "lag": [finished.lag.lag, finished.lag.reason],
        }
        write_text(place, json.dumps(facts))


def _read_json(place: Path) -> dict[str, Any]:
    try:
        found = json.loads(place.read_text())
        if not isinstance(found, dict):
            raise ValueError("no JSON object")
        return found
    except (OSError, ValueError) as error:
        raise ValueError(f"{place} is damaged ({error}).") from error


def _read_npz(place: Path) -> dict[str, np.ndarray]:
    try:
        with place.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except Exception as error:  # zipfile, zlib and numpy raise what they like
        raise ValueError(f"{place} is damaged ({error}): delete it to make it again.") from error


def _data(problem: Problem) -> dict[str, Any]:
    arrays: dict[str, Any] = {f"series.{i}": one for i, one in enumerate(problem.panel)}
    return arrays | {f"inputs.{i}": one for i, one in enumerate(problem.inputs or ())}


def _question(problem: Problem, method: Any, seed: int) -> dict[str, Any]:
    """What a run is about, as JSON that can be compared."""
    data = hashlib.sha256()
    for name, value in _data(problem).items():
        data.update(f"{name}{value.shape}".encode() + np.ascontiguousarray(value).tobytes())
    prior = storage.or_none(codec.encode_prior, problem.prior)
    return {
        "format": FORMAT,
        "seed": seed,
        "method": codec.encode(method),
        "prior": repr(problem.prior) if prior is None else prior,
        "model": fingerprint(problem.model),
        "series": data.hexdigest(),
        "precision": str(np.dtype(jax.numpy.result_type(float))),
    }


def fingerprint(model: Any) -> Any:
    """The plain form of a model; of one without, its name, source and values, hashed.

    The source is that of its class or function, and of the whole file where `load_file` loaded it: such
    a file holds the model and nothing else.
    """
    plain = storage.or_none(codec.encode, model)
    if plain is not None:
        return plain
    kind = getattr(model, "simulate_fn", type(model))
    found = hashlib.sha256()
    with contextlib.suppress(OSError, TypeError):  # typed at a prompt: the name must do
        own_file = str(getattr(kind, "__module__", "")).startswith(FILE_MODULE)
        source = inspect.getmodule(kind) if own_file else kind
        found.update(inspect.getsource(source or kind).encode())
    for leaf in jax.tree.leaves(getattr(model, "parameters", {})):
        found.update(np.asarray(leaf).tobytes())
    return {"name": getattr(kind, "__qualname__", str(kind)), "source": found.hexdigest()}


def _compare(path: Path, stored: dict[str, Any], asked: dict[str, Any]) -> None:
    version = stored.get("format")
    if not isinstance(version, int) or version > FORMAT:
        raise ValueError(f"{path} has format {version!r}, newer than {FORMAT}: update tsnl.")
    asked = json.loads(json.dumps(asked))
    other = [name for name, value in asked.items() if stored.get(name) != value]
    if other:
        raise ValueError(
            f"{path} holds a run with another {', another '.join(other)}: to go on, ask the same "
            f"question; to ask another one, choose another folder."
        )
