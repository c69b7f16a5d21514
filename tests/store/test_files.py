"""Files that are not what they should be: refused before they are read, quickly, in little memory."""

import errno
import json
import os
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tsnl.store.files import (
    MOST_HOLES,
    MOST_TEXT,
    digest,
    read_json,
    read_npz,
    read_tensors,
    write_json,
    write_npz,
    write_tensors,
    write_whole,
)

READERS = {".json": read_json, ".npz": read_npz, ".safetensors": read_tensors}


@pytest.fixture
def quickly():
    begin = time.perf_counter()
    yield
    assert time.perf_counter() - begin < 10


def test_what_is_written_is_read(tmp_path):
    facts = {"a": [1, 2.5, None], "b": {"c": "d"}, "e": float("inf")}
    write_json(tmp_path / "facts.json", facts)
    assert read_json(tmp_path / "facts.json") == facts
    arrays = {
        "x": np.arange(6.0).reshape(2, 3),
        "words": np.array(["a", "bc"]),
        "none": np.zeros((0, 2)),
    }
    write_npz(tmp_path / "arrays.npz", arrays)
    found = read_npz(tmp_path / "arrays.npz")
    assert set(found) == set(arrays)
    for name, value in arrays.items():
        np.testing.assert_array_equal(found[name], value)
    write_tensors(tmp_path / "k.safetensors", {"w": np.ones(3, np.float32)}, {"spec": 3})
    tensors, found_facts = read_tensors(tmp_path / "k.safetensors")
    assert found_facts == {"spec": 3}
    np.testing.assert_array_equal(tensors["w"], np.ones(3))


@pytest.mark.parametrize("suffix", READERS)
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "holes", "empty"])
@pytest.mark.usefixtures("quickly")
def test_what_is_no_plain_file(tmp_path, suffix, kind):
    place = tmp_path / f"file{suffix}"
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "device":
        place.symlink_to("/dev/zero")
    elif kind == "folder":
        place.mkdir()
    else:
        place.touch()
        os.truncate(place, 4 * MOST_HOLES if kind == "holes" else 0)
    with pytest.raises(ValueError, match=f"{place.name} is damaged"):
        READERS[suffix](place)
    if kind != "empty":
        with pytest.raises(ValueError, match="is damaged"):
            digest(place)


def zipped(place, members, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(place, "w", compression) as file:
        for name, data in members.items():
            file.writestr(f"{name}.npy", data)


def header(shape, dtype="<f8"):
    text = str({"descr": dtype, "fortran_order": False, "shape": shape}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.usefixtures("quickly")
def test_zip_bombs(tmp_path):
    place = tmp_path / "bomb.npz"
    zipped(place, {"unused": bytes(50_000_000), "x": header((1,)) + bytes(8)})
    with pytest.raises(ValueError, match="larger in memory than on disk"):
        read_npz(place)
    for shape, dtype in (((10**12,), "<f8"), ((10**18,), "<U0"), ((2, 10**9), "|b1"), ((2,), "|O")):
        zipped(place, {"x": header(shape, dtype) + bytes(16)}, zipfile.ZIP_STORED)
        with pytest.raises(ValueError, match=r"x\.npy says that it is"):
            read_npz(place)


@pytest.mark.usefixtures("quickly")
def test_text_without_end(tmp_path):
    place = tmp_path / "facts.json"
    place.write_text("[" * (MOST_TEXT + 1))
    with pytest.raises(ValueError, match="more than 16,000,000 bytes"):
        read_json(place)
    place.write_text('{"a":' * 100_000)
    with pytest.raises(ValueError, match="is damaged"):
        read_json(place)


@pytest.mark.usefixtures("quickly")
def test_a_kernel_that_speaks_of_more_than_it_has(tmp_path):
    place = tmp_path / "k.safetensors"
    write_tensors(place, {"w": np.ones(3, np.float32)}, {"spec": {"members": [{"num": 10**9}]}})
    with pytest.raises(ValueError, match=r"speaks of 1,000,000,000, and has fewer weights"):
        read_tensors(place)
    place.write_bytes((10**15).to_bytes(8, "little") + b"{}")
    with pytest.raises(ValueError, match="its header is too long"):
        read_tensors(place)


def test_a_broken_seal(tmp_path):
    write_json(tmp_path / "facts.json", {"a": 1})
    facts = json.loads((tmp_path / "facts.json").read_text())
    (tmp_path / "facts.json").write_text(json.dumps({**facts, "a": 2}))
    with pytest.raises(ValueError, match="its seal is broken"):
        read_json(tmp_path / "facts.json")
    write_npz(tmp_path / "arrays.npz", {"a": np.ones(3)})
    stored = dict(np.load(tmp_path / "arrays.npz"))
    np.savez(tmp_path / "arrays.npz", **{**stored, "a": np.full(3, np.nan)})
    with pytest.raises(ValueError, match="its seal is broken"):
        read_npz(tmp_path / "arrays.npz")


def test_nothing_is_left_beside(tmp_path):
    write_json(tmp_path / "facts.json", {"a": 1})
    assert [path.name for path in Path(tmp_path).iterdir()] == ["facts.json"]


def test_a_full_disk_is_named_and_leaves_nothing(tmp_path):
    place = tmp_path / "report.html"
    place.write_text("before")

    def full(file):
        file.write(b"half of")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left") as caught:
        write_whole(place, full)
    assert caught.value.filename == str(place)
    assert place.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
