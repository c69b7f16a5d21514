"""The folder of a run while it runs: what is finished is on disk, so that a run cut off can go on.

    run.json            the question and the options
    data.npz            the observed series and their inputs
    simulations/        finished simulations, a file for each chunk of them
    rounds/             draws, records and kernel of each finished round
    blocks/             filter runs of a correction, as they finish
    result.json, draws.npz, kernel.safetensors      the result, once there is one

A folder is one run of one question: what is in it carries the question's mark, and a file with another
one is refused. Every file is written beside its place and then moved there, so that it is whole or
absent. What is random depends on the seed and on numbers of simulations and rounds alone: a run that
goes on with as many visible cores comes to the same draws, to the bit, as one that was never cut off.
"""

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from tsnl.kernel.lag import LagChoice
from tsnl.methods.api import Inference, Method
from tsnl.methods.sequential.state import SavedRound
from tsnl.problem import Problem
from tsnl.sampling import Draws
from tsnl.simulation.chunk import Chunk, Failure
from tsnl.store.files import read_json, read_npz, write_json, write_npz
from tsnl.store.place import delete_run, has_begun, refuse_to_overwrite
from tsnl.store.question import check_same_question, question_of, warn_of_cores, write_question
from tsnl.store.results import (
    RESULT,
    RUN,
    check_digests,
    check_same_run,
    digests,
    load_kernel,
    mark_of,
    series_arrays,
)

SCALARS = [f.name for f in fields(Draws) if f.name not in ("z", "log_density")]


class RunFolder:
    """A place for the chunks of simulations (`tsnl.simulation.Store`) and the rounds of one run.

    Attributes:
        path: of the folder.
        mark: the question's, which every file carries.
    """

    def __init__(self, path: Path, mark: str) -> None:
        self.path, self.mark = path, mark

    @staticmethod
    def open(
        path: Path,
        problem: Problem,
        method: Method,
        seed: int,
        resume: bool,
        first: Inference | None = None,
    ) -> "RunFolder":
        """Begin a folder, or go on in one that asks the same question.

        Args:
            path: of the folder.
            problem: what is asked.
            method: how it is answered.
            seed: one integer.
            resume: whether a run that is there is to go on.
            first: the result that the run goes on from, where it does.

        Raises:
            FileExistsError: there is a run already, and it is not to go on, or a saved result.
            ValueError: it is a run of something else, of another version, or damaged.
        """
        asked = json.loads(json.dumps(question_of(problem, method, seed, first)))
        folder = RunFolder(path, mark_of(asked))
        if resume and (has_begun(path) or ((path / RUN).exists() and folder.finished)):
            check_same_question(path / RUN, asked)
            if folder.finished:
                check_same_run(path, read_json(path / RESULT))
            else:
                warn_of_cores(path / RUN)
            return folder
        refuse_to_overwrite(path)
        if (path / RUN).exists():
            delete_run(path)  # a start that came to nothing
        (path / "simulations").mkdir(parents=True, exist_ok=True)
        (path / "rounds").mkdir(exist_ok=True)
        write_npz(path / "data.npz", series_arrays(problem))
        write_question(path / RUN, asked)
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
        try:
            found = read_npz(place)
            self._check_mark(found.get("run"), first)
            chunk = _chunk_of(first, found)
        except Exception as error:
            raise ValueError(f"{place} is damaged ({error}): delete it to make it again.") from error
        return chunk if chunk.count == count else None

    def put(self, first: int, chunk: Chunk) -> None:
        """Keep a chunk."""
        arrays: dict[str, Any] = {f"theta.{name}": value for name, value in chunk.theta.items()}
        arrays |= {
            "series": chunk.series,
            "failed": np.array([failure.number for failure in chunk.failures], dtype=np.int64),
            "reasons": np.array([failure.reason for failure in chunk.failures], dtype=np.str_),
            "run": np.array(f"{self.mark} {first}"),
        }
        extra = {"views": chunk.views, "states": chunk.states}
        arrays |= {name: value for name, value in extra.items() if value is not None}
        place = self.path / "simulations" / f"{first:08d}.npz"
        write_npz(place, arrays)

    def rounds(self) -> Iterator[SavedRound]:
        """The rounds that are finished, in order."""
        number = 1
        while (place := self._round(number)).exists():
            try:
                facts = read_json(place)
                self._check_mark(facts.get("run"), number)
                check_digests(place.parent, facts["files"])
                arrays = read_npz(place.with_suffix(".npz"))
                kernel = load_kernel(place.with_suffix(".safetensors"))
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
        others = place.with_suffix(".npz"), place.with_suffix(".safetensors")
        write_npz(others[0], arrays)
        finished.kernel.save(others[1])
        facts = {
            "run": f"{self.mark} {number}",
            "files": digests(*others),
            "draws": {name: getattr(draws, name) for name in SCALARS},
            "record": finished.record,
            "lag": [finished.lag.lag, finished.lag.reason],
        }
        write_json(place, facts)

    def block(self, name: str) -> dict[str, np.ndarray] | None:
        """The arrays that were kept under a name, or None."""
        place = self._block(name)
        if not place.exists():
            return None
        try:
            found = read_npz(place)
            self._check_mark(found.pop("run", None), name)
        except Exception as error:
            raise ValueError(f"{place} is damaged ({error}): delete it to make it again.") from error
        return found

    def keep_block(self, name: str, arrays: dict[str, Any]) -> None:
        """Keep arrays under a name."""
        place = self._block(name)
        place.parent.mkdir(exist_ok=True)
        write_npz(place, {**arrays, "run": np.array(f"{self.mark} {name}")})

    def _check_mark(self, found: Any, part: int | str) -> None:
        if str(found) != f"{self.mark} {part}":
            raise ValueError("it is of another run, or of another part of this one")

    def _block(self, name: str) -> Path:
        return self.path / "blocks" / f"{name}.npz"

    def _round(self, number: int) -> Path:
        return self.path / "rounds" / f"{number:04d}.json"


def _chunk_of(first: int, found: dict[str, np.ndarray]) -> Chunk:
    theta = {name[6:]: value for name, value in found.items() if name.startswith("theta.")}
    pairs = zip(found["failed"].tolist(), found["reasons"].tolist(), strict=True)
    failures = tuple(Failure(int(n), str(r)) for n, r in pairs)
    broken = np.flatnonzero(~np.isfinite(found["series"]).all(axis=(1, 2))) + first
    if broken.tolist() != sorted(failure.number for failure in failures):
        raise ValueError("values are missing of simulations that did not fail")
    series, views = found["series"], found.get("views")
    if views is not None and (views.shape[0], *views.shape[2:]) != series.shape:
        raise ValueError("its views are not of its series")
    states = found.get("states")
    if states is not None and states.shape[:-1] != (len(series), series.shape[1] + 1):
        raise ValueError("its states are not of its series")
    whole = np.isfinite(series).all(axis=(1, 2))
    for extra in (views, states):
        if extra is not None and not np.isfinite(extra[whole]).all():
            raise ValueError("values are missing of simulations that did not fail")
    return Chunk(first, theta, series, failures, views, states)
