"""What a run is about, as JSON that can be compared when the run goes on."""

import hashlib
import warnings
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tsnl.methods.api import Inference, Method
from tsnl.problem import Problem
from tsnl.runtime.cores import visible_cores
from tsnl.runtime.reader import remedy
from tsnl.store import codec
from tsnl.store.files import read_json, seal_of_arrays, write_json
from tsnl.store.fingerprint import difference, fingerprint
from tsnl.store.results import encode_prior, series_arrays

FORMAT = 6


def question_of(
    problem: Problem, method: Method, seed: int, first: Inference | None = None
) -> dict[str, Any]:
    """What a run is about, as JSON that can be compared.

    Args:
        problem: what is asked.
        method: how it is answered.
        seed: one integer.
        first: the result that the run goes on from, where it does.
    """
    data = hashlib.sha256()
    for name, value in series_arrays(problem).items():
        data.update(f"{name}{value.shape}".encode() + np.ascontiguousarray(value).tobytes())
    prior = codec.or_none(encode_prior, problem.prior)
    plain = codec.or_none(codec.encode, method)
    question: dict[str, Any] = {
        "seed": seed,
        "method": codec.encode(method, functions=True),
        "function of the method": fingerprint(method) if plain is None else None,
        "prior": fingerprint(problem.prior.distributions) if prior is None else prior,
        "model": fingerprint(problem.model),
        "series": data.hexdigest(),
        "precision": str(np.dtype(jax.numpy.result_type(float))),
    }
    if first is not None:
        drawn = {**first.draws, "log_density": first.log_density}
        sealed = seal_of_arrays({name: np.asarray(value) for name, value in drawn.items()})
        question["result to correct"] = sealed
    return question


def write_question(place: Path, asked: dict[str, Any]) -> None:
    """Keep the question, and what else the draws depend on."""
    write_json(place, {"format": FORMAT, "question": asked, "cores": visible_cores()})


def check_same_question(place: Path, asked: dict[str, Any]) -> None:
    """Compare what is asked with what was asked when a run began; warn of what cannot be compared.

    Raises:
        ValueError: it is another question, or of another version.
    """
    stored = read_json(place)
    version, question = stored.get("format"), stored.get("question")
    if version != FORMAT or not isinstance(question, dict):
        raise ValueError(
            f"{place} has format {version!r}, this tsnl reads {FORMAT}: use the tsnl that began the "
            f"run, or {_other_place()}."
        )
    other = [
        name + _where(question.get(name), asked.get(name))
        for name in {**asked, **question}
        if question.get(name) != asked.get(name)
    ]
    if other:
        raise ValueError(
            f"{place.parent} holds a run with another {', another '.join(other)}: to go on, ask the "
            f"same question; to ask another one, {_other_place()}."
        )
    _warn_of_unseen(asked)


def _other_place() -> str:
    return remedy(
        python="choose another folder", command="choose another folder, or replace it with --force"
    )


def _where(stored: Any, asked: Any) -> str:
    """Where two fingerprints differ, in brackets; nothing where these are none."""
    if not (isinstance(asked, dict) and "parts" in asked):
        return ""
    places = difference(stored, asked)
    return f" (at {', '.join(places[:3])})" if places else ""


def _warn_of_unseen(asked: dict[str, Any]) -> None:
    """Say what of the question could not be compared with that of the run."""
    found = [
        place for value in asked.values() if isinstance(value, dict) for place in value.get("unseen", ())
    ]
    if found:
        warnings.warn(
            f"The run goes on as if these were as they were when it began, which cannot be seen: "
            f"{', '.join(found[:5])}. If they have changed, start in a new folder.",
            stacklevel=4,
        )


def warn_of_cores(place: Path) -> None:
    """Warn where a run that is to go on began under another number of visible cores."""
    before, now = read_json(place).get("cores"), visible_cores()
    if before != now:
        warnings.warn(
            f"The run began with {before} visible cores and goes on with {now}: its draws are as good, "
            f"but not to the bit those of a run that was never cut off. For these, let it see as many "
            f"cores as before (taskset, or the environment variable NPROC).",
            stacklevel=4,
        )
