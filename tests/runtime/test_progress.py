"""What a watcher is told, and what a terminal shows."""

import json
import os
import pty
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tsnl.runtime import progress
from tsnl.runtime.progress import NotebookBar, Silent, progress_for

SCRIPT = """
from tsnl.runtime.progress import progress_for
bar = progress_for({wanted})
bar.start("T-SNL", 4)
bar.now(1, "round 2/4 train")
bar.now(4, "finished")
bar.close()
print(type(bar).__name__)
"""

PRIOR = """
import numpyro.distributions as dist, tsnl
tsnl.Prior(Q=dist.HalfNormal(1.0))
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


@pytest.fixture
def outputs(monkeypatch):
    """What a notebook's display was given: the first of each output, then its changes."""
    found = []

    def display(page, display_id):
        found.append(page)
        return SimpleNamespace(update=found.append)

    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    return found


def test_a_notebook_shows_a_bar_that_changes_in_its_place(outputs, monkeypatch, capsys):
    clock = iter(range(100))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(clock)))
    bar = progress_for(True)
    assert isinstance(bar, NotebookBar)
    bar.start("T-SNL <b>", 4)
    bar.now(1, "round 2/4 train")
    bar.now(4, "finished")
    bar.close()
    assert "round 2/4 train (" in repr(outputs[1])
    assert "s left)" in repr(outputs[1])
    page = outputs[-1]._repr_html_()
    assert "T-SNL &lt;b&gt; <progress value='1.0000' max='1'" in page
    assert "finished" in page
    assert capsys.readouterr() == ("", "")


def test_a_notebook_is_not_flooded(outputs):
    bar = progress_for(True)
    bar.close()  # before it began
    bar.start("T-SNL", 1000)
    for i in range(1000):
        bar.now(i, "simulate")
    bar.close()
    assert len(outputs) < 100
    assert "simulate" in repr(outputs[-1])


def test_a_prompt_of_ipython_is_a_terminal(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: object()))
    assert isinstance(progress_for(True), Silent)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of the kernel's own sockets
def test_a_real_kernel(tmp_path, monkeypatch):
    """One output for the whole of a run, and a table for a prior."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    kernel = tmp_path / "kernels" / "here"
    kernel.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    facts = {"argv": command, "display_name": "here", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(facts))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    cells = [SCRIPT.format(wanted=True), PRIOR]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, kernel_name="here", timeout=300).execute()
    shown = [out for out in notebook.cells[0].outputs if out.output_type == "display_data"]
    assert len(shown) == 1
    assert "finished" in shown[0].data["text/html"]
    last = notebook.cells[1].outputs[-1]
    assert "HalfNormal(scale=1)" in last.data["text/html"]
    assert last.data["text/plain"] == "Prior(Q: HalfNormal)"
