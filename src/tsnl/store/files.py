"""Plain files, each whole or absent: JSON, npz and safetensors; nothing is ever unpickled.

A file carries a seal, a hash of what is in it, which is compared when it is read. Sizes are looked at
before anything is read: no file is larger in memory than it is on disk.
"""

import contextlib
import hashlib
import json
import os
import stat
import zipfile
from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

SEAL = "seal"
MOST_TEXT = 16_000_000  # bytes of JSON
MOST_HOLES = 32_000_000  # bytes of a file from which on most of it must be on disk
FEW = 1000  # that any option may be; beyond, there must be as many weights


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


def open_plain(place: Path) -> IO[bytes]:
    """Open a file for reading, without waiting for anybody.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is a pipe, a device or a folder, or mostly holes.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    number = os.open(place, flags)
    found = os.fstat(number)
    holes = getattr(found, "st_blocks", found.st_size) * 512 * 4 < found.st_size > MOST_HOLES
    if not stat.S_ISREG(found.st_mode) or holes:
        os.close(number)
        raise ValueError("no plain file" if not holes else "a file that is mostly holes")
    return os.fdopen(number, "rb")


def digest(place: Path) -> str:
    """A hash of a file, byte by byte.

    Raises:
        ValueError: it cannot be read.
    """
    try:
        with open_plain(place) as file:
            found = hashlib.sha256()
            while block := file.read(1 << 20):
                found.update(block)
            return found.hexdigest()
    except (OSError, ValueError) as error:
        raise ValueError(f"{place} is damaged ({error}).") from error


def write_text(place: Path, text: str) -> None:
    """A text file."""
    write_whole(place, lambda file: file.write(text.encode()))


def read_text(place: Path) -> str:
    """A text file of bounded size.

    Raises:
        ValueError: it is too large, or no text.
    """
    with open_plain(place) as file:
        data = file.read(MOST_TEXT + 1)
    if len(data) > MOST_TEXT:
        raise ValueError(f"more than {MOST_TEXT:,} bytes")
    return data.decode()


def write_json(place: Path, facts: Mapping[str, Any]) -> None:
    """A JSON object with its seal."""
    plain = json.loads(json.dumps(facts))
    write_text(place, json.dumps({**plain, SEAL: _seal_of(plain)}, indent=1))


def read_json(place: Path) -> dict[str, Any]:
    """A JSON object, without its seal.

    Raises:
        ValueError: it is damaged.
    """
    try:
        found = json.loads(read_text(place))
        if not isinstance(found, dict):
            raise ValueError("no JSON object")
        if found.pop(SEAL, None) != _seal_of(found):
            raise ValueError("it is not what was written: its seal is broken")
        return found
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{place} is damaged ({error}).") from error


def _seal_of(facts: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def write_npz(place: str | Path, arrays: Mapping[str, Any]) -> None:
    """Arrays by name, with their seal."""
    own = {name: np.asarray(value) for name, value in arrays.items()}
    sealed: dict[str, Any] = {**own, SEAL: np.array(seal_of_arrays(own))}
    write_whole(Path(place), lambda file: np.savez(file, **sealed))


def read_npz(place: str | Path) -> dict[str, np.ndarray]:
    """Arrays by name, without their seal.

    Raises:
        ValueError: it is damaged.
    """
    try:
        with open_plain(Path(place)) as file, zipfile.ZipFile(file) as stored:
            infos = stored.infolist()
            size = os.fstat(file.fileno()).st_size
            if sum(info.file_size for info in infos) > size:
                raise ValueError("it would be larger in memory than on disk")
            found = {info.filename.removesuffix(".npy"): _array(stored, info) for info in infos}
        if str(found.pop(SEAL, None)) != seal_of_arrays(found):
            raise ValueError("it is not what was written: its seal is broken")
        return found
    except FileNotFoundError:
        raise
    except Exception as error:  # zipfile, zlib and numpy raise what they like
        raise ValueError(f"{place} is damaged ({error}).") from error


def _array(stored: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """One array, if it is as large as it says."""
    npy = np.lib.format
    with stored.open(info) as file:
        old = npy.read_magic(file) == (1, 0)
        shape, _, dtype = (npy.read_array_header_1_0 if old else npy.read_array_header_2_0)(file)
        if dtype.hasobject or prod(shape) * max(dtype.itemsize, 1) > info.file_size:
            raise ValueError(f"{info.filename} says that it is {shape} of {dtype}")
    with stored.open(info) as file:
        return npy.read_array(file, allow_pickle=False)


def seal_of_arrays(arrays: Mapping[str, np.ndarray]) -> str:
    """A hash of arrays, whatever their order."""
    found = hashlib.sha256()
    for name, value in sorted(arrays.items()):
        found.update(f"{name} {value.dtype.str} {value.shape} ".encode())
        found.update(np.ascontiguousarray(value).tobytes())
    return found.hexdigest()


def write_tensors(place: Path, tensors: Mapping[str, np.ndarray], facts: dict[str, Any]) -> None:
    """A safetensors file, with facts as JSON in its header, and the seal of both."""
    from safetensors.numpy import save

    text = json.dumps(facts)
    sealed = {"facts": text, SEAL: seal_of_arrays({**tensors, "facts": np.array(text)})}
    data = save(dict(tensors), metadata={"facts": json.dumps(sealed)})  # one: several have no order
    write_whole(place, lambda file: file.write(data))


def read_tensors(place: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Tensors by name, and the facts.

    Raises:
        ValueError: it is damaged.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with open_plain(place) as file:
            if int.from_bytes(file.read(8), "little") > MOST_TEXT:
                raise ValueError("its header is too long")
        with safe_open(place, framework="numpy") as stored:
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
            header = json.loads((stored.metadata() or {})["facts"])
        if header[SEAL] != seal_of_arrays({**tensors, "facts": np.array(header["facts"])}):
            raise ValueError("it is not what was written: its seal is broken")
        facts = json.loads(header["facts"])
        if (largest := _largest(facts)) > max(sum(x.size for x in tensors.values()), FEW):
            raise ValueError(f"it speaks of {largest:,}, and has fewer weights")
        return tensors, facts
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{place} is damaged ({error}).") from error


def _largest(facts: Any) -> int:
    """The largest integer anywhere among facts."""
    if isinstance(facts, dict):
        facts = list(facts.values())
    if isinstance(facts, list):
        return max((_largest(one) for one in facts), default=0)
    return facts if isinstance(facts, int) else 0
