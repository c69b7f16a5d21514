import errno

import pytest

from tsnl.store.files import write_whole


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
