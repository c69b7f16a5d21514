"""The folder of a run while it runs: what is finished is on disk, so that a run cut off can go on.

    run.json            the question and the options
    data.npz            the observed series and their inputs
    simulations/        finished simulations, a file for each chunk of them
    rounds/             draws, records and kernel of each finished round
    blocks/             filter runs of a correction, as they finish
    result.json, draws.npz, kernel.safetensors      the result, once there is one

Every file is written beside its place and then moved there, so that it is whole or absent. What is
random depends on the seed and on numbers of simulations and rounds alone: a run that goes on comes to
the same draws, to the bit, as one that was never cut off.
"""

import contextlib
import hashlib
import inspect
import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tsnl.kernel import Kernel
from tsnl.kernel.lag import LagChoice
from tsnl.methods.api import Method
from tsnl.methods.sequential.state import SavedRound
from tsnl.problem import Problem
from tsnl.sampling import Draws
from tsnl.simulation.chunk import Chunk, Failure
from tsnl.simulation.worker import FILE_MODULE
from tsnl.store import codec
from tsnl.store.files import read_json, read_npz, write_json, write_npz
from tsnl.store.results import RESULT, encode_prior, series_arrays

FORMAT = 2
RUN = "run.json"
SCALARS = [f.name for f in fields(Draws) if f.name not in ("z", "log_density")]


def refuse_to_overwrite(folder: Path) -> None:
    """The one place that knows whether a folder holds a run.

    Raises:
        FileExistsError: it does, finished or not.
    """
    if (folder / RESULT).exists():
        raise FileExistsError(
            f"{folder} holds a run already: read it with resume=True (--resume), or choose another "
            f"folder."
        )
    if (folder / RUN).exists():
        raise FileExistsError(
            f"{folder} holds a run that was stopped: go on with resume=True (--resume), or choose "
            f"another folder."
        )


class RunFolder:
    """A place for the chunks of simulations (`tsnl.simulation.Store`) and the rounds of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @staticmethod
    def open(path: Path, problem: Problem, method: Method, seed: int, resume: bool) -> "RunFolder":
        """Begin a folder, or go on in one that asks the same question.

        Raises:
            FileExistsError: there is a run already, and it is not to go on.
            ValueError: it is a run of something else, of a newer version, or damaged.
        """
        folder, asked = RunFolder(path), _question(problem, method, seed)
        if resume and (path / RUN).exists():
            _compare(path, read_json(path / RUN), asked)
            return folder
        refuse_to_overwrite(path)
        (path / "simulations").mkdir(parents=True, exist_ok=True)
        (path / "rounds").mkdir(exist_ok=True)
        write_npz(path / "data.npz", series_arrays(problem))
        write_json(path / RUN, asked)
        return folder

    @property
    def finished(self) -> bool:
        """Whether the result is there."""
        return (self.path / RESULT).exists()

    def get(self, first: int, count: int) -> Chunk | None:
        """The stored chunk, or None."""
        place = self.path / "simulations" / f"{first:08d}.npz"
        if not place.exists():
            return None
        found = _again(read_npz, place)
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
        write_npz(place, arrays, compressed=False)

    def rounds(self) -> Iterator[SavedRound]:
        """The rounds that are finished, in order."""
        number = 1
        while (place := self._round(number)).exists():
            facts = read_json(place)
            arrays = _again(read_npz, place.with_suffix(".npz"))
            try:
                kernel = Kernel.load(place.with_suffix(".safetensors"))
                draws = Draws(arrays["z"], arrays["log_density"], **facts["draws"])
                lag = LagChoice(facts["lag"][0], facts["lag"][1], {})
                saved = SavedRound(kernel, draws, facts["record"], lag, arrays["proposed"])
            except Exception as error:
                raise ValueError(
                    f"{place} is damaged ({error}): delete it to run that round again."
                ) from error
            yield saved
            number += 1

    def keep_round(self, number: int, finished: SavedRound) -> None:
        """Keep a round; its JSON file comes last, so that where it is, all is."""
        place, draws = self._round(number), finished.draws
        arrays = {"z": draws.z, "log_density": draws.log_density, "proposed": finished.proposed}
        write_npz(place.with_suffix(".npz"), arrays, compressed=False)
        finished.kernel.save(place.with_suffix(".safetensors"))
        facts = {
            "draws": {name: getattr(draws, name) for name in SCALARS},
            "record": finished.record,
            "lag": [finished.lag.lag, finished.lag.reason],
        }
        write_json(place, facts)

    def block(self, name: str) -> dict[str, np.ndarray] | None:
        """The arrays that were kept under a name, or None."""
        place = self.path / "blocks" / f"{name}.npz"
        return _again(read_npz, place) if place.exists() else None

    def keep_block(self, name: str, arrays: dict[str, Any]) -> None:
        """Keep arrays under a name."""
        (self.path / "blocks").mkdir(exist_ok=True)
        write_npz(self.path / "blocks" / f"{name}.npz", arrays, compressed=False)

    def _round(self, number: int) -> Path:
        return self.path / "rounds" / f"{number:04d}.json"


def _again(read: Any, place: Path) -> dict[str, np.ndarray]:
    try:
        return read(place)
    except ValueError as error:
        raise ValueError(f"{str(error).rstrip('.')}: delete it to make it again.") from error


def _question(problem: Problem, method: Method, seed: int) -> dict[str, Any]:
    """What a run is about, as JSON that can be compared."""
    data = hashlib.sha256()
    for name, value in series_arrays(problem).items():
        data.update(f"{name}{value.shape}".encode() + np.ascontiguousarray(value).tobytes())
    prior = codec.or_none(encode_prior, problem.prior)
    return {
        "format": FORMAT,
        "seed": seed,
        "method": codec.encode(method, functions=True),
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
    plain = codec.or_none(codec.encode, model)
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
