"""What a watcher is told, and what a terminal shows."""

import os
import pty
import subprocess
import sys

from tsnl.runtime.progress import Silent, progress_for

SCRIPT = """
from tsnl.runtime.progress import progress_for
bar = progress_for({wanted})
bar.start("T-SNL", 4)
bar.now(1, "round 2/4 train")
bar.now(4, "finished")
bar.close()
print(type(bar).__name__)
"""


def in_a_terminal(wanted):
    """What the script writes to a pseudo-terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", SCRIPT.format(wanted=wanted)]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "PYTHONWARNINGS": "ignore"}
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        text += part
    assert process.wait() == 0
    return text.decode()


def test_a_terminal_shows_a_bar():
    text = in_a_terminal(True)
    assert "Bar" in text
    assert "T-SNL" in text
    assert "finished" in text
    assert "0 s left" in text


def test_nobody_who_does_not_want_one_sees_a_bar():
    assert in_a_terminal(False).strip() == "Silent"


def test_no_terminal_no_bar(capsys):
    watcher = progress_for(True)
    assert isinstance(watcher, Silent)
    watcher.start("T-SNL", 1)
    watcher.now(0.5, "round 1/1 train")
    watcher.close()
    assert capsys.readouterr() == ("", "")
