"""Blocks of a correction are of a run like its simulations and rounds."""

import shutil

import numpy as np
import pytest

from tsnl.store.folder import RunFolder
from tsnl.store.place import as_folder, delete_run, has_begun, refuse_to_overwrite


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    found = RunFolder(tmp_path, "mark")
    found.keep_block("weigh-0000", {"log_p": np.arange(3.0)})
    return found


def test_a_block_is_read_as_it_was_kept(folder):
    assert set(folder.block("weigh-0000")) == {"log_p"}
    np.testing.assert_array_equal(folder.block("weigh-0000")["log_p"], np.arange(3.0))
    assert folder.block("weigh-0001") is None


def test_a_block_of_another_run_or_place_is_refused(folder):
    with pytest.raises(ValueError, match=r"weigh-0000.npz is damaged.*another run.*delete it"):
        RunFolder(folder.path, "other").block("weigh-0000")
    blocks = folder.path / "blocks"
    shutil.copy(blocks / "weigh-0000.npz", blocks / "weigh-0001.npz")
    with pytest.raises(ValueError, match="another part of this one"):
        folder.block("weigh-0001")


def test_a_damaged_block_is_refused(folder):
    place = folder.path / "blocks" / "weigh-0000.npz"
    np.savez(place, **{**dict(np.load(place)), "log_p": np.zeros(3)})
    with pytest.raises(ValueError, match=r"its seal is broken.*delete it to make it again"):
        folder.block("weigh-0000")


def test_blocks_are_a_run_that_is_not_overwritten_and_go_with_it(folder):
    (folder.path / "blocks" / "mine.txt").write_text("keep")
    assert has_begun(folder.path)
    with pytest.raises(FileExistsError, match="a run that was stopped: go on with resume=True"):
        refuse_to_overwrite(folder.path)
    delete_run(folder.path)
    refuse_to_overwrite(folder.path)
    assert [path.name for path in folder.path.rglob("*") if path.is_file()] == ["mine.txt"]


def test_an_empty_path_is_no_folder():
    with pytest.raises(ValueError, match="folder is empty: give a path"):
        as_folder(" ")
