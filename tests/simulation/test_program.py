import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest

from tsnl.simulation import Program, simulate
from tsnl.simulation.program import read

SCRIPT = """
import json, random, sys
if len(sys.argv) > 1:
    facts = json.load(open(sys.argv[1]))
else:
    facts = json.load(sys.stdin)
random.seed(facts["seed"])
rows = [[facts["parameters"]["Q"] * random.random(), facts["seed"]] for _ in range(facts["length"])]
if len(sys.argv) > 2:
    json.dump(rows, open(sys.argv[2], "w"))
else:
    print("level,seed")
    for row in rows:
        print(*row, sep=",")
"""
KEY = jax.random.key(0)


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "simulate.py"
    path.write_text(SCRIPT)
    return [sys.executable, "-S", str(path)]


def test_stdin_and_files_say_the_same(script):
    theta = {"Q": np.array([1.0, 100.0])}
    piped = simulate(KEY, Program(script), theta, 4)
    assert piped.failures == ()
    assert piped.series.shape == (2, 4, 2)
    assert piped.series[0, 0, 1] != piped.series[1, 0, 1]
    filed = simulate(KEY, Program([*script, "{parameters}", "{series}"]), theta, 4)
    np.testing.assert_array_equal(filed.series, piped.series)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import sys; sys.exit('no such rate')", "exit code 1: no such rate"),
        ("print('hello\\nworld')", "printed no series"),
        ("print()", "returned shape (0,), expected (3, 1)"),
        ("print('1\\n2\\nnan')", "not finite from row 3 on"),
        ("import os; os.kill(os.getpid(), 9)", "killed by SIGKILL"),
    ],
)
def test_failures(code, reason):
    program = Program([sys.executable, "-S", "-c", code], max_failures=1.0)
    found = simulate(KEY, program, {"Q": np.ones(1)}, 3, num_columns=1)
    assert found.failures[0].reason.startswith(reason)


def test_a_timeout_ends_all_that_was_started(tmp_path):
    mark = tmp_path / "mark"
    child = f"import time, pathlib; time.sleep(1); pathlib.Path({str(mark)!r}).touch()"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {child!r}])"
    program = Program([sys.executable, "-S", "-c", code], timeout=0.4, max_failures=1.0)
    found = simulate(KEY, program, {"Q": np.ones(1)}, 3)
    assert found.failures[0].reason == "timed out after 0.4 s"
    time.sleep(1.2)
    assert not mark.exists()


def test_no_such_program(unchecked):
    found = simulate(KEY, Program(["/no/such/program"]), {"Q": np.ones(1)}, 3)
    assert "could not be started" in found.failures[0].reason
    with pytest.raises(TypeError, match="as a list"):
        Program("simulate --fast")


@pytest.mark.parametrize("text", ["1,2\n3,4", "[[1, 2], [3, 4]]", "a,b\n1,2\n\n3,4\n", " 1, 2\n3,4"])
def test_formats(text):
    np.testing.assert_array_equal(read(text), [[1.0, 2.0], [3.0, 4.0]])


def test_this_folder_is_left_clean(script, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    simulate(KEY, Program([*script, "{parameters}"]), {"Q": np.ones(1)}, 3)
    assert [path.name for path in Path(tmp_path).iterdir()] == ["simulate.py"]
