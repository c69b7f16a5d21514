"""Plain files, each whole or absent: JSON, npz and safetensors; nothing is ever unpickled."""

import contextlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np


def write_whole(place: Path, write: Callable[[Any], Any]) -> None:
    """Write a file beside its place, see it onto the disk, and move it there: whole or not at all."""
    beside = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(place)
    except BaseException as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        if isinstance(error, OSError):  # a full disk names no file
            raise type(error)(error.errno, error.strerror or str(error), str(place)) from error
        raise


def write_text(place: Path, text: str) -> None:
    """A text file."""
    write_whole(place, lambda file: file.write(text.encode()))


def write_json(place: Path, facts: Any) -> None:
    """A JSON file."""
    write_text(place, json.dumps(facts, indent=1))


def read_json(place: Path) -> dict[str, Any]:
    """A JSON object.

    Raises:
        ValueError: it is damaged.
    """
    try:
        found = json.loads(place.read_text())
        if not isinstance(found, dict):
            raise ValueError("no JSON object")
        return found
    except (OSError, ValueError) as error:
        raise ValueError(f"{place} is damaged ({error}).") from error


def write_npz(place: str | Path, arrays: Mapping[str, Any], *, compressed: bool = True) -> None:
    """Arrays by name."""
    save: Any = np.savez_compressed if compressed else np.savez
    write_whole(Path(place), lambda file: save(file, **arrays))


def read_npz(place: str | Path) -> dict[str, np.ndarray]:
    """Arrays by name.

    Raises:
        ValueError: it is damaged.
    """
    try:
        with Path(place).open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except FileNotFoundError:
        raise
    except Exception as error:  # zipfile, zlib and numpy raise what they like
        raise ValueError(f"{place} is damaged ({error}).") from error


def write_tensors(place: Path, tensors: Mapping[str, np.ndarray], facts: dict[str, Any]) -> None:
    """A safetensors file, with facts as JSON in its header."""
    from safetensors.numpy import save

    data = save(dict(tensors), metadata={"facts": json.dumps(facts)})
    write_whole(place, lambda file: file.write(data))


def read_tensors(place: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Tensors by name, and the facts.

    Raises:
        ValueError: it is damaged.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(place, framework="numpy") as stored:
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
            return tensors, json.loads((stored.metadata() or {})["facts"])
    except (SafetensorError, KeyError, ValueError) as error:
        raise ValueError(f"{place} is damaged ({error}).") from error
